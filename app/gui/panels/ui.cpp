#include "app/gui/panels/ui.h"

#include <cmath>

#include "app/gui/panels/inline_text.h"
#include "app/gui/view/fitting.h"
#include "app/gui/view/utf8.h"
#include "app/gui/window/imgui_compat.h"
#include "core/base/text.h"

namespace meshscope::panels {

ImU32 Ui::pack(window::Rgb c, float alpha) {
    return IM_COL32(c.r, c.g, c.b, static_cast<int>(std::lround(255.0F * alpha)));
}

ImU32 Ui::colour(Token token, float alpha) const {
    if (token == Token::none) return 0;
    // High contrast: tints are mixed to solid colours, so that nothing shines through.
    if (theme.solid_tints && alpha < 1)
        return pack(window::mix(theme.fill(token), theme.fill(Token::panel), alpha));
    return pack(theme.fill(token), alpha);
}

ImU32 Ui::word(Token token, float alpha) const {
    return token == Token::none ? 0 : pack(theme.word(token), alpha);
}

std::string Ui::say(const std::string& id, std::vector<MessageArg> args) const {
    return texts.text({id, std::move(args)});
}

const std::string& Ui::pick(const scenario::Text& text) const {
    const std::string& first = chinese() ? text.zh : text.en;
    return first.empty() ? (chinese() ? text.en : text.zh) : first;
}

float Ui::line(Face face) const {
    return std::round(window::face_size(face) * (chinese() ? 1.6F : 1.45F));
}

void Ui::text(Rect box, const std::string& full, Face face, Token token, Align align) {
    if (full.empty()) return;
    const bool of_run = quiz_mask.open() && panel == "facts";
    const std::string masked = of_run ? quiz_mask.mask(full) : std::string();
    const std::string words = printable(of_run ? masked : full);
    const float wide = width(words, face);
    // Glyphs stand on whole pixels, so at most two pixels come from rounding.
    if (wide > box.w + 2 / scale) overflows.push_back({panel, words, wide, box.w});
    float x = box.x;
    if (align == Align::centre) x += (box.w - wide) / 2;
    if (align == Align::right) x += box.w - wide;
    const float size = fonts.pixels(face);
    const ImVec2 at(std::round(px(x)), std::round(px(box.y + box.h / 2) - size / 2));
    draw->AddText(fonts.font(face), size, at, word(token), words.data(), words.data() + words.size());
}

std::string Ui::fit(const std::string& full, const std::string& brief, float available, Face face) const {
    if (width(full, face) <= available) return full;
    return width(brief, face) <= available ? brief : std::string();
}

void Ui::fill(Rect box, Token token, float radius, float alpha) {
    draw->AddRectFilled({std::round(px(box.x)), std::round(px(box.y))},
                        {std::round(px(box.x + box.w)), std::round(px(box.y + box.h))}, colour(token, alpha),
                        px(radius));
}

void Ui::outline(Rect box, Token token, float radius, float thickness, float alpha) {
    compat::rect(*draw, {std::round(px(box.x)), std::round(px(box.y))},
                 {std::round(px(box.x + box.w)), std::round(px(box.y + box.h))}, colour(token, alpha),
                 px(radius), std::max(1.0F, std::round(px(std::max(thickness, theme.hairline)))));
}

void Ui::hairline(float x, float y, float w) {
    const float top = std::round(px(y));
    draw->AddRectFilled({px(x), top}, {px(x + w), top + std::max(1.0F, std::round(px(theme.hairline)))},
                        colour(Token::line));
}

void Ui::tick(Point at, Token token) {
    const ImVec2 points[] = {px(Point{at.x - 5, at.y}), px(Point{at.x - 1.5F, at.y + 4}),
                             px(Point{at.x + 6, at.y - 5})};
    compat::polyline(*draw, points, 3, word(token), false, px(1.8F));
}

void Ui::cross(Point at, Token token) {
    draw->AddLine(px(Point{at.x - 5, at.y - 5}), px(Point{at.x + 5, at.y + 5}), word(token), px(1.8F));
    draw->AddLine(px(Point{at.x - 5, at.y + 5}), px(Point{at.x + 5, at.y - 5}), word(token), px(1.8F));
}

std::vector<std::string> wrap(const view::TextMeasure& measure, const std::string& text, Face face,
                              float width) {
    std::vector<std::string> lines(1);
    float used = 0;
    const auto fits = [&](const std::string& piece) { return measure.width(piece, face) <= width; };
    for (const std::string& piece : view::numbers_kept(break_pieces(text), fits)) {
        if (piece == "\n") {
            lines.emplace_back();
            used = 0;
            continue;
        }
        const float wide = measure.width(piece, face);
        if (used + wide > width && !lines.back().empty()) {
            while (!lines.back().empty() && lines.back().back() == ' ') lines.back().pop_back();
            lines.emplace_back();
            used = 0;
            if (piece == " ") continue;
        }
        if (wide <= width) {
            lines.back() += piece;
            used += wide;
            continue;
        }
        // One word wider than the whole line (a path, a call): better after a separator than within a name.
        for (size_t at = 0; at < piece.size();) {
            std::string& full = lines.back();
            size_t end = view::line_end(measure, piece, at, face, width - used);
            if (end == at && full.empty())
                end = view::next_letter(piece, at);  // a letter wider than the line
            full.append(piece, at, end - at);
            used = measure.width(full, face);
            at = end;
            if (at == piece.size()) break;
            std::string rest;
            // Between two names rather than between the words of one.
            for (const char* marks : {"./(,:=-", "_"}) {
                const size_t mark = full.find_last_of(marks);
                if (mark == std::string::npos || mark * 3 <= full.size()) continue;
                rest = full.substr(mark + 1);
                full.resize(mark + 1);
                break;
            }
            used = measure.width(rest, face);
            lines.push_back(std::move(rest));
        }
    }
    return lines;
}

float paragraph(Ui& ui, float x, float y, float width, const std::string& text, Face face, Token token) {
    const float height = ui.line(face);
    for (const std::string& line : wrap(ui.measure, text, face, width)) {
        ui.text({x, y, width, height}, line, face, token);
        y += height;
    }
    return y;
}

}  // namespace meshscope::panels
