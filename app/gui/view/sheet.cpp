#include "app/gui/view/sheet.h"

#include <algorithm>

namespace meshscope::view {

void Sheet::head(const std::string& words, const std::string& note, Id note_id) {
    const float line = p.line_height(Face::caption);
    const Face face = note_id.kind.empty() ? Face::caption : Face::mono_small;  // a link is a place in a file
    const float note_line = p.line_height(face);
    const auto parts = p.wrap(words, Face::caption, width());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) y += line;
        p.text(parts[i], {x, y}, Face::caption, Token::mute);
    }
    const float note_w = note.empty() ? 0 : p.width(note, face);
    const Token colour = note_id.kind.empty() ? Token::mute : Token::accent;
    const float last = parts.empty() ? 0 : p.width(parts.back(), Face::caption);
    if (!note.empty() && last + 16 + note_w <= width()) {
        p.text(note, {right, y + (line - note_line) / 2}, face, colour, Align::right, note_id);
    } else if (!note.empty()) {
        y += line + 2;
        for (const std::string& part : p.wrap(note, face, width())) {
            p.text(part, {x, y}, face, colour, Align::left, note_id);
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

FactList::FactList(const Input& input)
    : p(input), right(input.size.width - kPad), height_(input.size.height) {}

void FactList::head(const std::string& words, const std::string& note) {
    const bool both = p.width(words, Face::caption) + p.width(note, Face::caption) + 16 <= width();
    y = p.paragraph(words, {kPad, y}, Face::caption, Token::mute, width());
    if (both && !note.empty())
        p.text(note, {right, y - p.line_height(Face::caption)}, Face::caption, Token::mute, Align::right);
    y += 4;
    p.line({kPad, y + 0.5F}, {right, y + 0.5F}, Token::line);
    y += 8;
    p.tell(words + (note.empty() ? "" : " · " + note));
}

void FactList::sentence(const std::string& words, const Id& id, Token colour) {
    p.tell(words);
    y = p.paragraph(words, {kPad, y}, Face::body, colour, width(), id) + 14;
}

Shape& FactList::row(Token hue, const std::string& what, const std::string& brief, const std::string& figure,
                     const std::string& note, const Id& id) {
    const float line = std::max(24.F, p.line_height(Face::mono_small) + 2), top = y;
    const float room = width() - 36 - 12 - p.width(figure, Face::mono_small);
    if (!figure.empty())
        p.label({kPad + 36, y, width() - 36, line}, figure, Face::mono_small, Token::text, Token::none, id,
                Align::right);
    const std::string words = p.fit({what, brief}, Face::caption, room);
    if (!words.empty())
        p.label({kPad + 36, y, room, line}, words, Face::caption, Token::text, Token::none, id, Align::left);
    y += line;
    if (!note.empty())
        y = p.paragraph(note, {kPad + 36, y}, Face::caption, Token::mute, width() - 36, id) + 4;
    p.tell(what + "  " + figure + (note.empty() ? "" : "  " + note));
    auto& swatch = p.rect({kPad, top + line / 2 - 7, 26, 14}, hue, 3, id);
    swatch.fill_alpha = 0.3F;
    swatch.stroke = hue;
    swatch.width = 1.4F;
    return swatch;
}

void FactList::sum(const std::string& words, const std::string& figure, const std::string& told) {
    y += 4;
    p.line({kPad, y + 0.5F}, {right, y + 0.5F}, Token::line);
    y += 6;
    p.text(words, {kPad, y}, Face::body, Token::soft, Align::left, {"sum"});
    p.text(figure, {right, y}, Face::mono_small, Token::text, Align::right, {"sum"});
    p.tell(words + "  " + (told.empty() ? figure : told));
    y += p.line_height(Face::body);
}

Picture FactList::take() {
    Picture picture = p.take();
    picture.height = picture.content_height = std::max(height_, y + 12);
    return picture;
}

namespace {

constexpr float kSide = 10, kGap = 6;

}  // namespace

Rect draw_button(Painter& p, Point at, float most, const std::string& words, const Id& id, bool primary) {
    constexpr float kButton = 34;
    const auto lines = p.wrap(words, Face::body, most - 24);
    const float line = p.line_height(Face::body),
                high = kButton - line + line * static_cast<float>(lines.size());
    const Rect box{at.x, at.y, std::min(most, p.width(words, Face::body) + 28), high};
    auto& shape = p.rect(box, primary ? Token::accent : Token::raised, 8, id);
    if (!primary) shape.stroke = Token::line2;
    float y = box.y + (high - line * static_cast<float>(lines.size())) / 2;
    for (const std::string& part : lines) {
        p.label({box.x, y, box.w, line}, part, Face::body, primary ? Token::onacc : Token::text, Token::none,
                id);
        y += line;
    }
    return box;
}

float draw_chips(Painter& p, const std::vector<Chip>& chips, Point at, float right) {
    if (p.watched()) return at.y;
    const float left = at.x, height = std::max(kChip, p.line_height(Face::caption) + 4);
    bool drawn = false;
    for (const Chip& chip : chips) {
        const float w = p.width(chip.words, Face::caption) + 2 * kSide;
        if (left + w > right) continue;
        if (at.x + w > right) at = {left, at.y + height + kGap};
        const Rect box{at.x, at.y, w, height};
        p.rect(box, chip.on ? Token::accentbg : Token::raised, 8, chip.id).stroke =
            chip.on ? Token::accent : Token::line2;
        p.label({box.x + kSide, box.y, w - 2 * kSide, height}, chip.words, Face::caption,
                chip.on ? Token::text : Token::soft, Token::none, chip.id);
        at.x += w + kGap;
        drawn = true;
    }
    return drawn ? at.y + height : at.y;
}

float chips_width(const Painter& p, const std::vector<Chip>& chips) {
    float w = 0;
    if (p.watched()) return w;
    for (const Chip& chip : chips) w += (w > 0 ? kGap : 0.F) + p.width(chip.words, Face::caption) + 2 * kSide;
    return w;
}

}  // namespace meshscope::view
