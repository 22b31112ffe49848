#include "app/gui/view/paint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/gui/view/fitting.h"
#include "app/gui/view/utf8.h"

namespace meshscope::view {
namespace {

constexpr float kPi = 3.14159265F;

bool overlap(const Rect& a, const Rect& b) {
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

std::vector<Point> regular(Point c, float radius, int corners, float turn, float inner = 1) {
    std::vector<Point> points;
    const int n = inner < 1 ? corners * 2 : corners;
    for (int i = 0; i < n; ++i) {
        const float a = turn + 2 * kPi * static_cast<float>(i) / static_cast<float>(n);
        const float r = inner < 1 && i % 2 == 1 ? radius * inner : radius;
        points.push_back({c.x + r * std::cos(a), c.y + r * std::sin(a)});
    }
    return points;
}

}  // namespace

Painter::Painter(const Input& input) : input_(input) {
    picture_.width = input.size.width;
    picture_.height = picture_.content_height = input.size.height;
}

Shape& Painter::add(Shape shape) {
    shape.layer = layer;
    shape.fill_alpha *= alpha;
    shape.stroke_alpha *= alpha;
    picture_.shapes.push_back(std::move(shape));
    return picture_.shapes.back();
}

Shape& Painter::rect(Rect box, Token fill, float radius, Id id) {
    Shape s;
    s.box = box;
    s.fill = fill;
    s.radius = radius;
    s.id = std::move(id);
    return add(std::move(s));
}

Shape& Painter::outline(Rect box, Token stroke, float width, float radius, Id id) {
    Shape& s = rect(box, Token::none, radius, std::move(id));
    s.stroke = stroke;
    s.width = width;
    return s;
}

Shape& Painter::circle(Point centre, float radius, Token fill, Id id) {
    Shape s;
    s.kind = ShapeKind::circle;
    s.box = {centre.x - radius, centre.y - radius, 2 * radius, 2 * radius};
    s.fill = fill;
    s.id = std::move(id);
    return add(std::move(s));
}

Shape& Painter::line(Point from, Point to, Token stroke, float width) {
    Shape& s = polyline({from, to}, stroke, width);
    s.kind = ShapeKind::line;
    return s;
}

Shape& Painter::polyline(std::vector<Point> points, Token stroke, float width) {
    Shape s;
    s.kind = ShapeKind::polyline;
    s.points = std::move(points);
    s.stroke = stroke;
    s.width = width;
    return add(std::move(s));
}

Shape& Painter::polygon(std::vector<Point> points, Token fill, Id id) {
    Shape s;
    s.kind = ShapeKind::polygon;
    s.points = std::move(points);
    s.fill = fill;
    s.id = std::move(id);
    return add(std::move(s));
}

Shape& Painter::bezier(Point a, Point b, Point c, Point d, Token stroke, float width) {
    Shape& s = polyline({a, b, c, d}, stroke, width);
    s.kind = ShapeKind::bezier;
    return s;
}

Shape& Painter::text(const std::string& text, Point at, Face face, Token colour, Align align, Id id) {
    Shape s;
    s.kind = ShapeKind::text;
    const float w = width(text, face);
    const float shift = align == Align::left ? 0.F : align == Align::centre ? w / 2 : w;
    s.box = {at.x - shift, at.y, w, line_height(face)};
    s.text = text;
    s.face = face;
    s.align = align;
    s.fill = colour;
    s.id = std::move(id);
    taken_.push_back(s.box);
    return add(std::move(s));
}

Shape& Painter::label(Rect box, const std::string& words, Face face, Token colour, Token on, Id id,
                      Align align) {
    const float h = std::min(box.h, line_height(face));
    const float x = align == Align::left ? box.x : align == Align::centre ? box.x + box.w / 2 : box.x + box.w;
    Shape& s = text(words, {x, box.y + (box.h - h) / 2}, face, colour, align, std::move(id));
    s.box.h = h;
    s.on = on;
    taken_.back() = s.box;
    return s;
}

bool Painter::is_free(Rect box) const {
    return std::none_of(taken_.begin(), taken_.end(), [&](const Rect& t) { return overlap(t, box); });
}

bool Painter::try_text(const std::string& words, Point at, Face face, Token colour, Align align, Id id) {
    if (words.empty()) return false;
    const float w = width(words, face);
    const float shift = align == Align::left ? 0.F : align == Align::centre ? w / 2 : w;
    const Rect box{at.x - shift, at.y, w, line_height(face)};
    if (box.x < 0 || box.y < 0 || box.x + box.w > picture_.width || box.y + box.h > picture_.content_height)
        return false;
    if (!is_free(box)) return false;
    text(words, at, face, colour, align, std::move(id));
    return true;
}

std::string Painter::fit(const std::vector<std::string>& choices, Face face, float room) const {
    // No label has room for that many bytes, and to measure them for each of many bars would take long.
    constexpr std::size_t kMostBytes = 16384;
    for (const auto& choice : choices)
        if (!choice.empty() && choice.size() <= kMostBytes && width(choice, face) <= room) return choice;
    return "";
}

std::vector<std::string> Painter::wrap(const std::string& words, Face face, float room) const {
    std::vector<std::string> lines;
    std::string current;
    const auto fits = [&](const std::string& piece) { return width(piece, face) <= room; };
    for (const auto& piece : numbers_kept(break_pieces(words), fits)) {
        if (piece == "\n") {
            lines.push_back(current);
            current.clear();
            continue;
        }
        std::string joined = current + piece;
        while (!joined.empty() && joined.back() == ' ') joined.pop_back();
        if (current.empty() || width(joined, face) <= room) {
            current += piece;
        } else {
            while (!current.empty() && current.back() == ' ') current.pop_back();
            lines.push_back(current);
            current = piece == " " ? "" : piece;
        }
        if (piece == " " || width(current, face) <= room) continue;
        // A single word wider than the line: cut where it is full.
        std::size_t from = 0;
        while (true) {
            const std::size_t end = line_end(input_.measure, current, from, face, room);
            if (end == from || end == current.size()) break;
            lines.push_back(current.substr(from, end - from));
            from = end;
        }
        current.erase(0, from);
    }
    while (!current.empty() && current.back() == ' ') current.pop_back();
    if (!current.empty()) lines.push_back(current);
    return lines;
}

float Painter::paragraph(const std::string& words, Point at, Face face, Token colour, float room, Id id) {
    for (const auto& line : wrap(words, face, room)) {
        if (!line.empty()) text(line, at, face, colour, Align::left, id);
        at.y += line_height(face);
    }
    return at.y;
}

float Painter::nothing(const std::string& words, Point at) {
    tell(words);
    return paragraph(words, at, Face::body, Token::mute, input_.size.width - 2 * at.x, {"empty"});
}

std::string Painter::say(const std::string& id, std::vector<MessageArg> args) const {
    return input_.texts.text(Message{id, std::move(args)});
}

void Painter::symbol(Point c, float r, int64_t origin, Token colour) {
    const Token hue = colour == Token::none ? origin_hue(origin) : colour;
    // Colours repeat after eight; with each round of them the shapes move on by one.
    switch ((origin + origin / 8) % 8) {
        case 0:
            circle(c, r, hue);
            break;
        case 1:
            polygon({{c.x, c.y - r}, {c.x + r, c.y + r * 0.85F}, {c.x - r, c.y + r * 0.85F}}, hue);
            break;
        case 2:
            rect({c.x - r * 0.85F, c.y - r * 0.85F, r * 1.7F, r * 1.7F}, hue);
            break;
        case 3:
            polygon(regular(c, r * 1.1F, 4, 0), hue);
            break;
        case 4:
            rect({c.x - r, c.y - r * 0.32F, 2 * r, r * 0.64F}, hue);
            rect({c.x - r * 0.32F, c.y - r, r * 0.64F, 2 * r}, hue);
            break;
        case 5:
            // A star is not convex, and renderers fill convex polygons only: a pentagon with five triangles
            // on it.
            {
                const auto star = regular(c, r * 1.1F, 5, -kPi / 2, 0.45F);
                std::vector<Point> core;
                for (std::size_t i = 1; i < star.size(); i += 2) core.push_back(star[i]);
                polygon(core, hue);
                for (std::size_t i = 0; i < star.size(); i += 2)
                    polygon({star[i], star[i + 1], star[(i + star.size() - 1) % star.size()]}, hue);
            }
            break;
        case 6:
            polygon(regular(c, r, 5, -kPi / 2), hue);
            break;
        default: {
            Shape& s = circle(c, r * 0.8F, Token::none);
            s.stroke = hue;
            s.width = std::max(1.2F, r * 0.35F);
        }
    }
}

void Painter::tick(Point c, float size, Token colour, float stroke_width) {
    polyline({{c.x - size * 0.5F, c.y},
              {c.x - size * 0.12F, c.y + size * 0.38F},
              {c.x + size * 0.5F, c.y - size * 0.4F}},
             colour, stroke_width);
}

void Painter::cross(Point c, float reach, Token colour, float stroke_width, const Id& id) {
    for (const float way : {-1.F, 1.F})
        line({c.x - reach, c.y - reach * way}, {c.x + reach, c.y + reach * way}, colour, stroke_width).id =
            id;
}

Picture Painter::take() {
    // Few layers and many shapes, which are large: each moves once.
    std::map<int, std::size_t> first;
    for (const Shape& s : picture_.shapes) ++first[s.layer];
    std::size_t before = 0;
    for (auto& entry : first) before += std::exchange(entry.second, before);
    std::vector<Shape> sorted(picture_.shapes.size());
    for (Shape& s : picture_.shapes) sorted[first[s.layer]++] = std::move(s);
    picture_.shapes = std::move(sorted);
    return std::move(picture_);
}

Picture Painter::take(float bottom) {
    picture_.height = picture_.content_height = std::max(input_.size.height, bottom);
    return take();
}

}  // namespace meshscope::view
