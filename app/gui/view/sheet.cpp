#include "app/gui/view/sheet.h"

#include <algorithm>

namespace meshscope::view {

void Sheet::head(const std::string& words, const std::string& note, Id note_id) {
    const float line = p.line_height(Face::caption);
    const float note_line = p.line_height(Face::mono_small);
    const auto parts = p.wrap(words, Face::caption, width());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) y += line;
        p.text(parts[i], {x, y}, Face::caption, Token::mute);
    }
    const float note_w = note.empty() ? 0 : p.width(note, Face::mono_small);
    const Token colour = note_id.kind.empty() ? Token::mute : Token::accent;
    const float last = parts.empty() ? 0 : p.width(parts.back(), Face::caption);
    if (!note.empty() && last + 16 + note_w <= width()) {
        p.text(note, {right, y + (line - note_line) / 2}, Face::mono_small, colour, Align::right, note_id);
    } else if (!note.empty()) {
        y += line + 2;
        for (const std::string& part : p.wrap(note, Face::mono_small, width())) {
            p.text(part, {x, y}, Face::mono_small, colour, Align::left, note_id);
            y += note_line;
        }
        y -= line;
    }
    y += std::max(line, note_line) + 4;
    p.line({x, y + 0.5F}, {right, y + 0.5F}, Token::line);
    y += 8;
    p.tell(words + (note.empty() ? "" : " · " + note));
}

void Sheet::row(const std::string& label, const std::string& value, Face face, Token colour) {
    const float line = std::max(p.line_height(Face::caption), p.line_height(face));
    const float step = std::max(26.F, line + 2);
    const float label_w = p.width(label, Face::caption), value_w = p.width(value, face);
    p.tell(label + ": " + value);
    if (label_w + 16 + value_w <= width()) {
        p.label({x, y, label_w, step}, label, Face::caption, Token::mute, Token::none, {}, Align::left);
        p.label({right - value_w, y, value_w, step}, value, face, colour, Token::none, {}, Align::right);
        y += step;
        return;
    }
    y = p.paragraph(label, {x, y + (step - line) / 2}, Face::caption, Token::mute, width()) + 2;
    y = p.paragraph(value, {x + 12, y}, face, colour, width() - 12) + 4;
}

void Sheet::paragraph(const std::string& words, Face face, Token colour, Id id) {
    p.tell(words);
    y = p.paragraph(words, {x, y}, face, colour, width(), std::move(id));
}

void Sheet::code(const std::string& words, Token colour) {
    constexpr float kPad = 12;
    p.tell(words);
    const auto lines = p.wrap(words, Face::mono_small, width() - 2 * kPad);
    const float line = p.line_height(Face::mono_small);
    p.rect({x, y, width(), line * static_cast<float>(lines.size()) + 16}, Token::inset, 8).stroke =
        Token::line;
    y += 8;
    for (const std::string& part : lines) {
        if (!part.empty()) p.text(part, {x + kPad, y}, Face::mono_small, colour);
        y += line;
    }
    y += 8;
}

}  // namespace meshscope::view
