#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "app/gui/panels/overlay.h"
#include "app/gui/panels/panels.h"
#include "app/gui/session/app_state.h"

namespace meshscope::panels {
namespace {

void exporting_card(Ui& ui, Memory& memory, Rect box) {
    const session::Exporting& now = *ui.state.exporting;
    const float w = std::min(520.0F, box.w - 32);
    const std::string name = now.path.substr(now.path.rfind('/') + 1);
    const std::string what =
        ui.say("ui.export.running", {{"name", name}, {"done", int64_t{now.done}}, {"all", int64_t{now.all}}});
    const auto lines = static_cast<float>(wrap(ui.measure, what, Face::body, w - 48).size());
    const float h = 24 + lines * ui.line(Face::body) + 12 + 4 + 20 + 40 + 20;
    const Rect card{box.x + (box.w - w) / 2, box.y + (box.h - h) / 2, w, h};
    const Overlay overlay(ui, "exporting", card);
    float y = paragraph(ui, card.x + 24, card.y + 24, w - 48, what, Face::body, Token::text) + 12;
    const float done = static_cast<float>(now.done) / static_cast<float>(std::max(1, now.all));
    ui.fill({card.x + 24, y, w - 48, 4}, Token::ghost, 2);
    ui.fill({card.x + 24, y, std::max(8.0F, (w - 48) * done), 4}, Token::accent, 2);
    y += 24;
    const std::string cancel = ui.say("ui.export.cancel");
    const float wide = button_width(ui, cancel, false);
    if (button(ui, memory, "export_cancel", {card.x + w - 24 - wide, y, wide, 40}, cancel))
        ui.act(session::CancelExport{});
}

/// A switch of the kinds that what is open can be exported as, each as wide as if all stood there. One that
/// is pressed gives the path its ending.
void choose_format(Ui& ui, Memory& memory, Rect box, std::string& path) {
    constexpr std::size_t kKinds = std::size(session::kExportEndings);
    const auto asked = session::export_kind_of(path);
    std::vector<session::ExportKind> kinds;
    std::vector<std::string> labels;
    int at = -1;
    for (std::size_t i = 0; i < kKinds; ++i) {
        const auto kind = static_cast<session::ExportKind>(i);
        if (!session::can_export(ui.state, kind)) continue;
        if (kind == asked) at = static_cast<int>(kinds.size());
        kinds.push_back(kind);
        std::string& label = labels.emplace_back(session::kExportEndings[i]);
        for (char& c : label) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    box.w *= static_cast<float>(kinds.size()) / static_cast<float>(kKinds);
    const int chosen = segmented(ui, memory, "export_format", box, labels, at);
    if (chosen < 0) return;
    const auto kind = static_cast<std::size_t>(kinds[static_cast<std::size_t>(chosen)]);
    path = session::export_path(ui.state, session::kExportEndings[kind]);
}

}  // namespace

void export_sheet(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "export";
    if (ui.state.exporting) return exporting_card(ui, memory, box);
    std::string& path = memory.fields["export_path"];
    std::string& shown = memory.fields["export_shown"];
    if (!ui.state.export_sheet) {
        shown.clear();
        return;
    }
    // The field follows the proposal until someone types in it.
    const session::ExportSheet& sheet = *ui.state.export_sheet;
    const bool opened = shown != sheet.path;
    if (opened) path = shown = sheet.path;
    const auto kind = session::export_kind_of(path);
    const int format = kind && session::can_export(ui.state, *kind) ? static_cast<int>(*kind) : -1;
    const bool run = ui.state.document != nullptr;
    std::string about, asked;
    if (format < 0)
        about = ui.say(run ? "export.format" : "export.plan_format", {{"path", path}});
    else
        about = ui.say(std::string("ui.export.") + session::kExportEndings[format]);
    const bool exists = sheet.replaces && path == sheet.path;
    if (exists) asked = ui.say("ui.export.exists");

    const float w = std::min(560.0F, box.w - 32), inner = w - 48;
    const auto high = [&](const std::string& words) {
        if (words.empty()) return 0.0F;
        return static_cast<float>(wrap(ui.measure, words, Face::body, inner).size()) * ui.line(Face::body) +
               12;
    };
    const float h = 60 + 52 + high(about) + 28 + 42 + 16 + high(asked) + 40 + 24;
    const Rect card{box.x + (box.w - w) / 2, box.y + std::max(8.0F, (box.h - h) / 2), w, h};
    const Overlay overlay(ui, "export", card);
    const float x = card.x + 24;
    float y = card.y + 14;
    ui.text({x, y, inner, 32}, ui.say("ui.export"), Face::title, Token::text);
    y += 46;
    choose_format(ui, memory, {x, y, inner, 40}, path);
    y += 52;
    y = paragraph(ui, x, y, inner, about, Face::body, format < 0 ? Token::err : Token::soft) + 12;
    ui.text({x, y, inner, 24}, ui.say("ui.export.to"), Face::caption, Token::mute);
    y += 28;
    const bool entered = text_field(ui, memory, "export_path", {x, y, inner, 42}, ui.say("ui.export.hint"));
    y += 58;
    if (!asked.empty()) y = paragraph(ui, x, y, inner, asked, Face::body, Token::warn) + 12;
    const std::string go = ui.say(exists ? "ui.export.replace" : "ui.export.go"), close = ui.say("ui.close");
    const float go_w = button_width(ui, go, false), close_w = button_width(ui, close, false);
    const Rect at{card.x + w - 24 - go_w, y, go_w, 40};
    if (button(ui, memory, "export_go", at, go, ButtonLook::primary, format >= 0) || (entered && format >= 0))
        ui.act(session::StartExport{path, exists});
    if (button(ui, memory, "export_close", {at.x - 8 - close_w, y, close_w, 40}, close))
        ui.act(session::ToggleExport{});
}

}  // namespace meshscope::panels
