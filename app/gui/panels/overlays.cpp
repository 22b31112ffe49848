#include <algorithm>

#include "app/gui/panels/overlay.h"
#include "app/gui/panels/panels.h"
#include "app/gui/session/commands.h"
#include "app/gui/session/keys.h"

namespace meshscope::panels {

void loading_card(Ui& ui, Memory& memory, Rect box) {
    if (!ui.state.loading) return;
    ui.panel = "loading";
    const session::Loading& loading = *ui.state.loading;
    const float w = std::min(460.0F, box.w - 32);
    std::string what = ui.say(loading.plans ? "ui.plan.again" : "ui.loading", {{"name", loading.name}});
    if (loading.steps > 0) {
        const int64_t done = loading.steps_done, all = loading.steps;
        what = ui.say(loading.models ? "ui.loading.ranks" : "ui.loading.step",
                      {{"name", loading.name}, {"done", done}, {"steps", all}});
    }
    const auto lines = static_cast<float>(wrap(ui.measure, what, Face::body, w - 48).size());
    const float h = 48 + lines * ui.line(Face::body) + 20 + 44;
    const Rect card{box.x + (box.w - w) / 2, box.y + (box.h - h) / 2, w, h};
    const Overlay overlay(ui, "loading", card);
    const float y = paragraph(ui, card.x + 24, card.y + 24, w - 48, what, Face::body, Token::text) + 12;
    ui.fill({card.x + 24, y, w - 48, 4}, Token::ghost, 2);
    const float done = loading.steps > 0
                           ? static_cast<float>(loading.steps_done) / static_cast<float>(loading.steps)
                           : 0.05F;
    ui.fill({card.x + 24, y, std::max(8.0F, (w - 48) * done), 4}, Token::accent, 2);
    const std::string cancel = ui.say("ui.export.cancel");
    const float cancel_w = ui.width(cancel, Face::body) + 28;
    if (button(ui, memory, "loading_cancel", {card.x + w - 24 - cancel_w, y + 18, cancel_w, 40}, cancel))
        ui.act(session::CancelLoading{});
}

void error_box(Ui& ui, Memory& memory, Rect box) {
    if (!ui.state.error) return;
    ui.panel = "error";
    const float w = std::min(640.0F, box.w - 32), inner = w - 48;
    std::vector<std::string> lines;
    for (const std::string& line : ui.state.error->lines) {
        for (std::string& piece : wrap(ui.measure, line, Face::mono_small, inner - 24))
            lines.push_back(std::move(piece));
    }
    const float step = 22;
    const float list_h = std::min(step * static_cast<float>(lines.size()) + 20, std::max(60.0F, box.h - 160));
    const float h = 60 + list_h + 16 + 40 + 20;
    const Rect card{box.x + (box.w - w) / 2, box.y + std::max(8.0F, (box.h - h) / 2), w, h};
    const Overlay overlay(ui, "error", card);
    ui.outline(card, Token::err, 12, 1.5F);
    ui.cross({card.x + 34, card.y + 30}, Token::err);
    ui.text({card.x + 52, card.y + 14, inner - 28, 32}, ui.say("ui.error.title"), Face::title, Token::text);
    const Rect list{card.x + 24, card.y + 56, inner, list_h};
    ui.fill(list, Token::inset, 8);
    {
        Region region(ui, "error_lines", list);
        float y = region.top() + 10;
        for (const std::string& line : lines) {
            ui.text({list.x + 12, y, inner - 24, step}, line, Face::mono_small, Token::soft);
            y += step;
        }
        region.content_ends(y + 10);
    }
    const float y = list.y + list_h + 16;
    const std::string copy = ui.say("ui.copy"), close = ui.say("ui.close");
    const float copy_w = button_width(ui, copy, false), close_w = button_width(ui, close, false);
    if (button(ui, memory, "error_close", {card.x + w - 24 - close_w, y, close_w, 40}, close,
               ButtonLook::primary)) {
        ui.act(session::DismissError{});
    }
    if (button(ui, memory, "error_copy", {card.x + w - 32 - close_w - copy_w, y, copy_w, 40}, copy)) {
        std::string text;
        for (const std::string& line : ui.state.error->lines) text += line + "\n";
        ui.act(session::CopyText{text});
        ui.act(session::ShowToast{ui.say("ui.copied")});
    }
}

void key_sheet(Ui& ui, Memory& memory, Rect box) {
    if (!ui.state.key_sheet) return;
    ui.panel = "key_sheet";
    const float w = std::min(620.0F, box.w - 32), inner = w - 56;
    // A row a command that has keys, and the one that is no command: Tab goes through the buttons.
    struct Row {
        std::vector<std::string> caps;
        std::string words;
    };
    std::vector<Row> rows;
    for (const session::Command& command : session::commands()) {
        Row row{{}, ui.say(command.id)};
        for (const window::KeyPress press : session::keys_of(command, ui.state.remembered.keys)) {
            const std::string label = session::key_label(press);
            if (std::find(row.caps.begin(), row.caps.end(), label) == row.caps.end())
                row.caps.push_back(label);
        }
        if (row.caps.size() > 2) row.caps.resize(2);
        if (!row.caps.empty()) rows.push_back(std::move(row));
    }
    rows.push_back({{"Tab"}, ui.say("keys.focus")});
    const auto caps_w = [&](const Row& row) {
        float wide = -8;
        for (const std::string& cap : row.caps) wide += ui.width(cap, Face::mono_small) + 16 + 8;
        return wide;
    };
    float keys_w = 0;
    for (const Row& row : rows) keys_w = std::max(keys_w, caps_w(row) + 20);
    keys_w = std::min(keys_w, inner / 2);
    const auto row_h = [&](const Row& row) {
        const auto lines = wrap(ui.measure, row.words, Face::body, inner - keys_w).size();
        const float words = static_cast<float>(lines) * ui.line(Face::body) + 8;
        return std::max(caps_w(row) > keys_w ? 64.0F : 34.0F, words);
    };
    float h = 84;
    for (const Row& row : rows) h += row_h(row);
    const float shown = std::min(h, box.h - 32);
    const Rect card{box.x + (box.w - w) / 2, box.y + (box.h - shown) / 2, w, shown};
    if (backdrop(ui, "behind_keys", box)) ui.act(session::ToggleKeySheet{});
    const Overlay overlay(ui, "keys", card);
    Region region(ui, "keys_rows", {card.x, card.y + 2, card.w, card.h - 4});
    float y = region.top() + 16;
    ui.text({card.x + 28, y, inner - 40, 36}, ui.say("ui.help"), Face::title, Token::text);
    if (button(ui, memory, "keys_close", {card.x + w - 64, y, 36, 36}, "×"))
        ui.act(session::ToggleKeySheet{});
    y += 48;
    for (const Row& row : rows) {
        float x = card.x + 28, cap_y = y + 3;
        for (const std::string& cap : row.caps) {
            if (x > card.x + 28 && x + ui.width(cap, Face::mono_small) + 16 > card.x + 28 + keys_w) {
                x = card.x + 28;
                cap_y += 30;
            }
            x += key_cap(ui, x, cap_y, cap) + 8;
        }
        paragraph(ui, card.x + 28 + keys_w, y + 4, inner - keys_w, row.words, Face::body, Token::soft);
        y += row_h(row);
    }
    region.content_ends(y + 14);
}

void toast(Ui& ui, Rect box) {
    if (!ui.state.toast) return;
    ui.panel = "toast";
    const float w = std::min(ui.width(ui.state.toast->text, Face::body) + 40, box.w - 32);
    const std::vector<std::string> lines = wrap(ui.measure, ui.state.toast->text, Face::body, w - 39);
    const float h = static_cast<float>(lines.size()) * ui.line(Face::body) + 20;
    const Rect card{box.x + (box.w - w) / 2, box.y + box.h - h - 24, w, h};
    const Overlay overlay(ui, "toast", card, Pointer::leaves);  // it passes, and nothing of it is pressed
    float y = card.y + 10;
    for (const std::string& line : lines) {
        ui.text({card.x + 20, y, w - 39, ui.line(Face::body)}, line, Face::body, Token::text, Align::centre);
        y += ui.line(Face::body);
    }
}

}  // namespace meshscope::panels
