#include <algorithm>
#include <filesystem>

#include "app/gui/panels/panels.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/paint.h"

namespace meshscope::panels {
namespace {

/// The lesson's own mesh, small: its last dim in rows with a hull each, the one before links the rows, those
/// before put such blocks side by side. `tour`, from 0 to 1: dots go through the ranks of every row, then of
/// every column, and show who is with whom; below 0 nothing moves.
void thumbnail(Ui& ui, const std::vector<session::MeshDim>& dims, Rect box, float tour) {
    constexpr float kMost = 46, kGap = 18;
    if (dims.empty()) return;
    const session::MeshDim& last = dims.back();
    const bool flat = dims.size() == 1;
    const int64_t columns = last.size, rows = flat ? 1 : dims[dims.size() - 2].size;
    int64_t blocks = 1;
    for (std::size_t d = 0; d + 2 < dims.size(); ++d) blocks *= dims[d].size;
    const Token along = view::dim_hue(last.name, dims.size() - 1),
                across = flat ? along : view::dim_hue(dims[dims.size() - 2].name, dims.size() - 2);
    const auto number = [](int64_t n) { return static_cast<float>(n); };
    // Blocks stand beside each other; their gaps do not shrink.
    const float room = box.w - 40 - kGap * number(blocks - 1);
    const float step = std::min({kMost, room / number(blocks * columns), (box.h - 36) / number(rows)});
    if (step < 6) {  // too many to draw each: the mesh in words
        std::string shape;
        for (const session::MeshDim& dim : dims)
            shape += (shape.empty() ? "" : " × ") + std::to_string(dim.size);
        ui.text(box, shape, Face::mono_title, Token::soft, Align::centre);
        return;
    }
    const float radius = step * 0.34F;
    const bool numbered =
        ui.width(std::to_string(blocks * rows * columns - 1), Face::mono_small) < 2 * radius - 2;
    const float wide = step * number(columns), all = wide * number(blocks) + kGap * number(blocks - 1);
    const float top = box.y + (box.h - step * number(rows)) / 2;
    const bool in_rows = flat || tour < 0.5F;
    const float passed = flat ? tour : in_rows ? tour * 2 : tour * 2 - 1;
    const auto dot = [&](Point at, Token hue) {
        ui.draw->AddCircleFilled(ui.px(at), ui.px(radius * 0.45F), ui.colour(hue), 0);
    };
    for (int64_t block = 0; block < blocks; ++block) {
        const float left = box.x + (box.w - all) / 2 + number(block) * (wide + kGap);
        if (blocks > 1) {
            const Rect frame{left - 6, top - 6, wide + 12, step * number(rows) + 12};
            ui.outline(frame, view::dim_hue(dims.front().name, 0), 12, 1, 0.75F);
        }
        for (int64_t line = 0; line < rows; ++line) {
            const float y = top + (number(line) + 0.5F) * step;
            const Rect hull{left + 1, y - step / 2 + 2, wide - 2, step - 4};
            ui.fill(hull, along, hull.h / 2, 0.08F);
            ui.outline(hull, along, hull.h / 2);
            for (int64_t i = 0; i < columns && line + 1 < rows; ++i) {
                const float x = left + (number(i) + 0.5F) * step;
                ui.draw->AddLine(ui.px(Point{x, y}), ui.px(Point{x, y + step}), ui.colour(across),
                                 ui.px(1.6F));
            }
        }
        for (int64_t i = 0; i < rows * columns; ++i) {
            const Point at{left + (number(i % columns) + 0.5F) * step,
                           top + (number(i / columns) + 0.5F) * step};
            ui.draw->AddCircleFilled(ui.px(at), ui.px(radius), ui.colour(Token::raised), 0);
            ui.draw->AddCircle(ui.px(at), ui.px(radius), ui.colour(Token::line2), 0, ui.px(1.4F));
            if (numbered)
                ui.text({at.x - radius, at.y - radius, 2 * radius, 2 * radius},
                        std::to_string(block * rows * columns + i), Face::mono_small, Token::text,
                        Align::centre);
        }
        if (tour < 0) continue;
        const float x = left + step / 2, y = top + step / 2;
        for (int64_t line = 0; in_rows && line < rows; ++line)
            dot({x + passed * step * number(columns - 1), y + number(line) * step}, along);
        for (int64_t i = 0; !in_rows && i < columns; ++i)
            dot({x + number(i) * step, y + passed * step * number(rows - 1)}, across);
    }
}

/// How far the tour of a card's thumbnail is: it goes round once when the card is pointed at or focused.
float tour_of(Ui& ui, Memory& memory, int card, const Touch& touched) {
    constexpr double kSeconds = 2.4;
    if (ui.state.reduced_motion || !(touched.hovered || touched.focused)) {
        if (memory.toured == card) memory.toured = -1;
        return -1;
    }
    if (memory.toured != card) memory.tour_s = 0;
    memory.toured = card;
    memory.tour_s += static_cast<double>(ImGui::GetIO().DeltaTime);
    if (memory.tour_s >= kSeconds) return -1;
    ui.moving = true;
    return static_cast<float>(memory.tour_s / kSeconds);
}

void big_logo(Ui& ui, float x, float y) {
    const Token hues[] = {Token::sky, Token::orange, Token::green, Token::pink};
    for (int i = 0; i < 16; ++i) {
        const int column = i % 4, line = i / 4;
        ui.fill({x + 17.0F * static_cast<float>(column), y + 17.0F * static_cast<float>(line), 13, 13},
                column == line ? hues[line] : Token::line, 3);
    }
}

/// What was open lately, one line each; gives the y below them.
float recent_rows(Ui& ui, Memory& memory, float x, float y, float w) {
    const auto& recent = ui.state.remembered.recent;
    if (recent.empty()) return y;
    ui.text({x, y, w, 24}, ui.say("ui.welcome.recent"), Face::caption, Token::mute);
    y += 28;
    for (std::size_t i = 0; i < recent.size() && i < 6; ++i) {
        const Rect box{x, y, w, 36};
        const Touch t = touch(ui, memory, "recent" + std::to_string(i), box, !ui.state.loading);
        if (t.hovered) {
            ui.fill(box, Token::raised, 8);
            tooltip(ui, recent[i].path);
        }
        const std::string name = view::elided(ui.measure, recent[i].name, Face::body, w - 16);
        ui.text({x + 8, y, w - 16, 36}, name, Face::body, t.hovered ? Token::text : Token::soft);
        if (t.pressed) ui.act(session::OpenPath{recent[i].path});
        y += 38;
    }
    return y + 16;
}

float brand(Ui& ui, Memory& memory, float x, float y, float w) {
    const session::AppState& s = ui.state;
    big_logo(ui, x, y);
    y += 84;
    ui.text({x, y, w, 42}, "Meshscope", Face::display, Token::text);
    y = paragraph(ui, x, y + 44, w, ui.say("ui.welcome.line"), Face::title, Token::soft) + 8;
    y = paragraph(ui, x, y, w, ui.say("ui.welcome.what"), Face::body, Token::mute) + 20;
    if (!s.offers.empty()) {
        if (button(ui, memory, "start", {x, y, w, 48}, ui.say("ui.welcome.start"), ButtonLook::primary,
                   !s.loading, Icon::play)) {
            ui.act(session::OpenPath{s.offers.front().id});
        }
        y += 48 + 24;
    }
    y = recent_rows(ui, memory, x, y, w);
    ui.text({x, y, w, 24}, ui.say("ui.language"), Face::caption, Token::mute);
    const int language = segmented(ui, memory, "welcome_language", {x, y + 28, w, 40}, {"中文", "English"},
                                   ui.chinese() ? 0 : 1);
    if (language >= 0) ui.act(session::SetLanguage{language == 0 ? view::Language::zh : view::Language::en});
    y += 84;
    ui.text({x, y, w, 24}, ui.say("ui.theme"), Face::caption, Token::mute);
    const std::vector<std::string> names = {ui.say("ui.theme.dark"), ui.say("ui.theme.light"),
                                            ui.say("ui.theme.contrast")};
    const int theme =
        segmented(ui, memory, "welcome_theme", {x, y + 28, w, 40}, names, static_cast<int>(s.theme));
    if (theme >= 0) ui.act(session::SetTheme{static_cast<window::ThemeKind>(theme)});
    return y + 84;
}

/// "3 of 7 steps, 2 questions answered"; "" for a lesson that was never opened.
std::string progress_words(const Ui& ui, const session::LessonCard& offer) {
    const std::string folder = std::filesystem::path(offer.id).parent_path().filename().string();
    const auto found = ui.state.remembered.progress.find(folder);
    if (found == ui.state.remembered.progress.end() || found->second.seen.empty()) return {};
    const session::LessonProgress& progress = found->second;
    return ui.say("ui.welcome.progress", {{"seen", static_cast<int64_t>(progress.seen.size())},
                                          {"steps", int64_t{progress.steps}},
                                          {"answers", static_cast<int64_t>(progress.answers.size())}});
}

float card(Ui& ui, Memory& memory, const session::LessonCard& offer, int index, Rect box) {
    const Touch t = touch(ui, memory, "offer" + std::to_string(index), box, !ui.state.loading);
    ui.fill(box, Token::panel, 12);
    ui.fill({box.x, box.y, box.w, 170}, Token::inset, 12);
    thumbnail(ui, offer.mesh, {box.x, box.y, box.w, 170}, tour_of(ui, memory, index, t));
    ui.outline(box, t.hovered ? Token::accent : Token::line, 12, t.hovered ? 1.5F : 1.0F);
    const float x = box.x + 20, w = box.w - 40;
    float y = paragraph(ui, x, box.y + 184, w, std::to_string(index + 1) + "  " + ui.pick(offer.title),
                        Face::title, Token::text);
    y = paragraph(ui, x, y + 4, w, ui.pick(offer.subtitle), Face::caption, Token::soft);
    const std::string progress = progress_words(ui, offer);
    if (!progress.empty()) y = paragraph(ui, x, y + 4, w, progress, Face::caption, Token::ok);
    if (t.pressed) ui.act(session::OpenPath{offer.id});
    return y + 20;
}

/// What a card needs, so that those in a row are of one height.
float card_height(const Ui& ui, const session::LessonCard& offer, float w) {
    const auto lines = [&](const std::string& text, Face face) {
        return static_cast<float>(wrap(ui.measure, text, face, w - 40).size()) * ui.line(face);
    };
    return 184 + lines("0  " + ui.pick(offer.title), Face::title) + 4 +
           lines(ui.pick(offer.subtitle), Face::caption) + 20 +
           (progress_words(ui, offer).empty() ? 0 : lines(progress_words(ui, offer), Face::caption) + 4);
}

}  // namespace

void welcome(Ui& ui, Memory& memory, Rect box) {
    ui.panel = "welcome";
    const bool narrow = box.w < 760;
    const float left_w = narrow ? box.w : std::clamp(box.w * 0.3F, 320.0F, 480.0F);
    Region region(ui, "welcome", box);
    if (!narrow) ui.fill({box.x, region.top(), left_w, 4000}, Token::panel);
    float left_y = region.top() + 36;
    left_y = brand(ui, memory, box.x + 40, left_y, left_w - 80);
    float x = box.x + left_w + 40, w = box.w - left_w - 80, y = region.top() + 36;
    if (narrow) {
        x = box.x + 40;
        w = box.w - 80;
        y = left_y + 24;
    }
    const std::string head = ui.say("ui.welcome.lessons");
    ui.text({x, y, w, 42}, head, Face::display, Token::text);
    y = paragraph(ui, x, y + 46, w, ui.say("ui.welcome.each"), Face::caption, Token::mute) + 16;
    const int a_row = std::max(1, static_cast<int>((w + 24) / (300 + 24)));
    const float wide = std::min(420.0F, (w - 24 * static_cast<float>(a_row - 1)) / static_cast<float>(a_row));
    float high = 0;
    for (const session::LessonCard& offer : ui.state.offers)
        high = std::max(high, card_height(ui, offer, wide));
    float bottom = y;
    for (size_t i = 0; i < ui.state.offers.size(); ++i) {
        const int index = static_cast<int>(i);
        const Rect at{x + static_cast<float>(index % a_row) * (wide + 24),
                      y + static_cast<float>(index / a_row) * (high + 24), wide, high};
        card(ui, memory, ui.state.offers[i], index, at);
        bottom = at.y + high;
    }
    y = bottom + 24;
    const std::vector<std::string> drop = wrap(ui.measure, ui.say("ui.welcome.drop"), Face::caption, w - 32);
    const float drop_h = static_cast<float>(drop.size()) * ui.line(Face::caption) + 24;
    ui.outline({x, y, w, drop_h}, Token::line2, 12);
    float line_y = y + 12;
    for (const std::string& line : drop) {
        ui.text({x + 16, line_y, w - 32, ui.line(Face::caption)}, line, Face::caption, Token::mute,
                Align::centre);
        line_y += ui.line(Face::caption);
    }
    region.content_ends(std::max(left_y, y + drop_h) + 32);
}

}  // namespace meshscope::panels
