#include "app/gui/view/paint.h"

#include <algorithm>
#include <array>
#include <cmath>

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
    for (const auto& choice : choices)
        if (!choice.empty() && width(choice, face) <= room) return choice;
    return "";
}

std::vector<std::string> Painter::wrap(const std::string& words, Face face, float room) const {
    std::vector<std::string> lines;
    std::string current;
    for (const auto& piece : break_pieces(words)) {
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
        // A single word wider than the line: cut where it is full.
        while (piece != " " && width(current, face) > room) {
            const auto letters = code_points(current);
            if (letters.size() < 2) break;
            std::string head;
            std::size_t n = 0;
            while (n + 1 < letters.size() && width(head + letters[n], face) <= room) head += letters[n++];
            if (n == 0) break;
            lines.push_back(head);
            current = current.substr(head.size());
        }
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

std::string Painter::say(const std::string& id, std::vector<MessageArg> args) const {
    return input_.texts.text(Message{id, std::move(args)});
}

void Painter::symbol(Point c, float r, int64_t origin, Token colour) {
    const Token hue = colour == Token::none ? origin_hue(origin) : colour;
    switch (origin % 8) {
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

Picture Painter::take() {
    std::stable_sort(picture_.shapes.begin(), picture_.shapes.end(),
                     [](const Shape& a, const Shape& b) { return a.layer < b.layer; });
    return std::move(picture_);
}

namespace {

struct DimLook {
    const char* name;
    Token hue;
    Stroke stroke;
};
constexpr std::array<DimLook, 5> kDims{{{"replicate", Token::pink, Stroke::double_line},
                                        {"shard", Token::sky, Stroke::solid},
                                        {"tp", Token::green, Stroke::dotted},
                                        {"pp", Token::yellow, Stroke::dashed},
                                        {"cp", Token::red, Stroke::dash_dot}}};

const DimLook& dim_look(const std::string& name, std::size_t position) {
    for (const auto& look : kDims)
        if (name == look.name) return look;
    for (const auto& look : kDims)  // data dims stand first in the list
        if (name.starts_with(std::string(look.name) + "_") || name.ends_with("_" + std::string(look.name)))
            return look;
    return kDims[position % kDims.size()];
}

float cross(Point o, Point a, Point b) {
    return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

}  // namespace

Token dim_hue(const std::string& name, std::size_t position) {
    return dim_look(name, position).hue;
}
Stroke dim_stroke(const std::string& name, std::size_t position) {
    return dim_look(name, position).stroke;
}

Token origin_hue(int64_t origin) {
    constexpr std::array<Token, 8> kHues{Token::sky,    Token::orange, Token::green, Token::pink,
                                         Token::yellow, Token::blue,   Token::red,   Token::grey};
    return kHues[static_cast<std::size_t>(origin % 8)];
}

Token op_hue(CollectiveOp op) {
    switch (op) {
        case CollectiveOp::all_gather:
        case CollectiveOp::gather:
            return Token::sky;
        case CollectiveOp::reduce_scatter:
        case CollectiveOp::scatter:
            return Token::orange;
        case CollectiveOp::all_reduce:
        case CollectiveOp::reduce:
            return Token::pink;
        case CollectiveOp::broadcast:
            return Token::yellow;
        case CollectiveOp::send:
        case CollectiveOp::recv:
            return Token::green;
        case CollectiveOp::all_to_all:
            return Token::blue;
        case CollectiveOp::barrier:
            return Token::grey;
    }
    return Token::grey;
}

void tint(Shape& shape, Token hue) {
    shape.fill = shape.stroke = hue;
    shape.fill_alpha = 0.26F;
    shape.width = 1.4F;
}

Token stream_hue(Stream stream) {
    switch (stream) {
        case Stream::all_gather:
            return Token::sky;
        case Stream::reduce_scatter:
            return Token::orange;
        case Stream::all_reduce:
            return Token::pink;
        case Stream::copy:
            return Token::grey;
        case Stream::p2p:
            return Token::green;
        case Stream::compute:
            return Token::compute;
    }
    return Token::compute;
}

std::vector<Point> hull(const std::vector<Rect>& boxes, float margin) {
    std::vector<Point> points;
    constexpr int kCorner = 4;  // points a rounded corner
    for (const auto& b : boxes)
        for (int corner = 0; corner < 4; ++corner) {
            const Point c{corner == 0 || corner == 3 ? b.x + b.w : b.x, corner < 2 ? b.y + b.h : b.y};
            for (int i = 0; i <= kCorner; ++i) {
                const float a = (static_cast<float>(corner) + static_cast<float>(i) / kCorner) * kPi / 2;
                points.push_back({c.x + margin * std::cos(a), c.y + margin * std::sin(a)});
            }
        }
    if (points.size() < 3) return points;
    std::sort(points.begin(), points.end(),
              [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
    std::vector<Point> out;
    // Monotone chain: lower half, then upper half.
    for (int half = 0; half < 2; ++half) {
        const std::size_t floor_size = out.size();
        for (const Point p : points) {
            while (out.size() >= floor_size + 2 && cross(out[out.size() - 2], out.back(), p) <= 0)
                out.pop_back();
            out.push_back(p);
        }
        out.pop_back();
        std::reverse(points.begin(), points.end());
    }
    return out;
}

bool inside(const std::vector<Point>& polygon, Point p) {
    bool in = false;
    for (std::size_t i = 0, j = polygon.size() - 1; i < polygon.size(); j = i++) {
        const Point a = polygon[i], b = polygon[j];
        if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) in = !in;
    }
    return in;
}

Point bezier_at(Point a, Point b, Point c, Point d, float t) {
    const float u = 1 - t;
    const float wa = u * u * u, wb = 3 * u * u * t, wc = 3 * u * t * t, wd = t * t * t;
    return {wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y};
}

float ease_in_out_cubic(float t) {
    t = std::clamp(t, 0.F, 1.F);
    return t < 0.5F ? 4 * t * t * t : 1 - std::pow(-2 * t + 2, 3.F) / 2;
}

float ease_out_quint(float t) {
    return 1 - std::pow(1 - std::clamp(t, 0.F, 1.F), 5.F);
}

}  // namespace meshscope::view
