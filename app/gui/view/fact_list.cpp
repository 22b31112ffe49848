#include "app/gui/view/fact_list.h"

#include <algorithm>

namespace meshscope::view {

FactList::FactList(const Input& input)
    : p(input), right_(input.size.width - kPad), height_(input.size.height) {}

void FactList::head(const std::string& words, const std::string& note) {
    const bool both = p.width(words, Face::caption) + p.width(note, Face::caption) + 16 <= right_ - kPad;
    y = p.paragraph(words, {kPad, y}, Face::caption, Token::mute, right_ - kPad);
    if (both && !note.empty())
        p.text(note, {right_, y - p.line_height(Face::caption)}, Face::caption, Token::mute, Align::right);
    y += 4;
    p.line({kPad, y + 0.5F}, {right_, y + 0.5F}, Token::line);
    y += 8;
    p.tell(words + (note.empty() ? "" : " · " + note));
}

void FactList::sentence(const std::string& words, const Id& id, Token colour) {
    p.tell(words);
    y = p.paragraph(words, {kPad, y}, Face::body, colour, right_ - kPad, id) + 14;
}

Shape& FactList::row(Token hue, const std::string& what, const std::string& brief, const std::string& figure,
                     const std::string& note, const Id& id) {
    const float line = std::max(24.F, p.line_height(Face::mono_small) + 2), top = y;
    const float room = right_ - kPad - 36 - 12 - p.width(figure, Face::mono_small);
    if (!figure.empty())
        p.label({kPad + 36, y, right_ - kPad - 36, line}, figure, Face::mono_small, Token::text, Token::none,
                id, Align::right);
    const std::string words = p.fit({what, brief}, Face::caption, room);
    if (!words.empty())
        p.label({kPad + 36, y, room, line}, words, Face::caption, Token::text, Token::none, id, Align::left);
    y += line;
    if (!note.empty())
        y = p.paragraph(note, {kPad + 36, y}, Face::caption, Token::mute, right_ - kPad - 36, id) + 4;
    p.tell(what + "  " + figure + (note.empty() ? "" : "  " + note));
    auto& swatch = p.rect({kPad, top + line / 2 - 7, 26, 14}, hue, 3, id);
    swatch.fill_alpha = 0.3F;
    swatch.stroke = hue;
    swatch.width = 1.4F;
    return swatch;
}

void FactList::sum(const std::string& words, const std::string& figure) {
    y += 4;
    p.line({kPad, y + 0.5F}, {right_, y + 0.5F}, Token::line);
    y += 6;
    p.text(words, {kPad, y}, Face::body, Token::soft, Align::left, {"sum"});
    p.text(figure, {right_, y}, Face::mono_small, Token::text, Align::right, {"sum"});
    p.tell(words + "  " + figure);
    y += p.line_height(Face::body) + 16;
}

Picture FactList::take() {
    Picture picture = p.take();
    picture.height = picture.content_height = std::max(height_, y + 12);
    return picture;
}

}  // namespace meshscope::view
