#include "app/gui/view/svg.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/file_kind.h"
#include "core/base/text.h"

namespace meshscope::view {
namespace {

std::string num(float value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(value));
    std::string_view digits = text.data();
    while (digits.ends_with('0')) digits.remove_suffix(1);
    if (digits.ends_with('.')) digits.remove_suffix(1);
    return std::string(digits == "-0" ? "0" : digits);
}

// The window's own faces first: a picture's boxes are as wide as they make words. What other systems have
// follows.
constexpr const char* kFaces =
    "WenQuanYi Micro Hei, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, Noto Sans, sans-serif";
constexpr const char* kMonoFaces =
    "DejaVu Sans Mono, WenQuanYi Micro Hei, Menlo, Consolas, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, "
    "monospace";

// The window's sizes are of a line, from ascent to descent, SVG's of an em: what the faces say of themselves.
constexpr float kEm = 0.853F, kMonoEm = 0.859F;
constexpr float kBaseline = 0.297F;  ///< below the line's middle

std::string dashes(Stroke style, float width) {
    const float w = std::max(1.F, width);
    switch (style) {
        case Stroke::dashed:
            return " stroke-dasharray=\"" + num(4 * w) + " " + num(3 * w) + "\"";
        case Stroke::dotted:
            return " stroke-dasharray=\"" + num(w) + " " + num(3 * w) + "\" stroke-linecap=\"round\"";
        case Stroke::dash_dot:
            return " stroke-dasharray=\"" + num(5 * w) + " " + num(2.5F * w) + " " + num(w) + " " +
                   num(2.5F * w) + "\"";
        default:
            return "";
    }
}

/// WCAG 2's relative luminance of "#RRGGBB".
double luminance(const std::string& colour) {
    double sum = 0;
    constexpr std::array<double, 3> kWeights{0.2126, 0.7152, 0.0722};
    for (std::size_t i = 0; i < 3 && colour.size() >= 7; ++i) {
        const double c =
            static_cast<double>(std::strtol(colour.substr(1 + 2 * i, 2).c_str(), nullptr, 16)) / 255;
        sum += kWeights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
}

class Writer {
  public:
    Writer(const Picture& picture, const Palette& palette, const TextMeasure* measure)
        : picture_(picture), palette_(palette), measure_(measure) {}

    std::string write() {
        std::string size = "width=\"" + num(picture_.width) + "\" height=\"" + num(picture_.height) + "\"";
        body_ += "<rect " + size + " fill=\"" + palette_(Token::bg) + "\"/>\n";
        for (const auto& shape : picture_.shapes) write(shape);
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " viewBox=\"0 0 " + num(picture_.width) +
               " " + num(picture_.height) + "\">" + std::string(kXmlMark) + "<defs>" + defs_ + "</defs>\n" +
               body_ + "</svg>\n";
    }

  private:
    std::string paint(const Shape& s) const {
        std::string out;
        if (s.fill == Token::none || s.pattern == Fill::none)
            out += " fill=\"none\"";
        else
            out += " fill=\"" + palette_(s.fill) + "\" fill-opacity=\"" + num(s.fill_alpha) + "\"";
        return out + stroke(s);
    }

    std::string stroke(const Shape& s) const {
        if (s.stroke == Token::none) return "";
        return " stroke=\"" + palette_(s.stroke) + "\" stroke-opacity=\"" + num(s.stroke_alpha) +
               "\" stroke-width=\"" + num(s.width) + "\"" + dashes(s.stroke_style, s.width);
    }

    // Hatches are a second fill over the first, so that the base and the lines keep their own colours.
    std::string hatch(const Shape& s) {
        if (s.pattern != Fill::hatch && s.pattern != Fill::dense_hatch && s.pattern != Fill::cross_hatch)
            return "";
        const Token token = s.hatch != Token::none ? s.hatch : s.fill;
        const float step = s.pattern == Fill::dense_hatch ? 3.5F : 7.F;
        const std::string id = "h" + std::to_string(++patterns_);
        const std::string line = "stroke=\"" + palette_(token) + "\" stroke-width=\"1.2\" stroke-opacity=\"" +
                                 num(0.6F * std::max(s.fill_alpha, 0.6F)) + "\"/>";
        defs_ += "<pattern id=\"" + id + "\" width=\"" + num(step) + "\" height=\"" + num(step) +
                 "\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" "
                 "x2=\"0\" y2=\"" +
                 num(step) + "\" " + line;
        if (s.pattern == Fill::cross_hatch)
            defs_ += "<line x1=\"0\" y1=\"0\" x2=\"" + num(step) + "\" y2=\"0\" " + line;
        defs_ += "</pattern>";
        return " fill=\"url(#" + id + ")\"";
    }

    void geometry(const Shape& s, const std::string& attributes) {
        switch (s.kind) {
            case ShapeKind::rect:
                body_ += "<rect x=\"" + num(s.box.x) + "\" y=\"" + num(s.box.y) + "\" width=\"" +
                         num(s.box.w) + "\" height=\"" + num(s.box.h) + "\" rx=\"" + num(s.radius) + "\"" +
                         attributes + "/>\n";
                break;
            case ShapeKind::circle:
                body_ += "<circle cx=\"" + num(s.box.x + s.box.w / 2) + "\" cy=\"" +
                         num(s.box.y + s.box.h / 2) + "\" r=\"" + num(s.box.w / 2) + "\"" + attributes +
                         "/>\n";
                break;
            case ShapeKind::polygon:
                body_ += "<polygon points=\"" + list(s.points) + "\"" + attributes + "/>\n";
                break;
            default:
                break;
        }
    }

    static std::string list(const std::vector<Point>& points) {
        std::string out;
        for (const auto& p : points) out += num(p.x) + "," + num(p.y) + " ";
        return out;
    }

    void path(const Shape& s, const std::vector<Point>& p, const std::string& attributes) {
        if (s.kind == ShapeKind::bezier && p.size() == 4)
            body_ += "<path d=\"M" + num(p[0].x) + "," + num(p[0].y) + " C" + num(p[1].x) + "," +
                     num(p[1].y) + " " + num(p[2].x) + "," + num(p[2].y) + " " + num(p[3].x) + "," +
                     num(p[3].y) + "\"" + attributes + "/>\n";
        else
            body_ += "<polyline points=\"" + list(p) + "\"" + attributes + "/>\n";
    }

    void lines(const Shape& s) {
        if (s.points.size() < 2) return;
        const std::string attributes = " fill=\"none\"" + stroke(s);
        if (s.stroke_style == Stroke::double_line) {
            const Point a = s.points.front(), b = s.points.back();
            const float length = std::max(0.001F, std::hypot(b.x - a.x, b.y - a.y));
            const Point n{-(b.y - a.y) / length * 2, (b.x - a.x) / length * 2};
            for (const float side : {-1.F, 1.F}) {
                auto moved = s.points;
                for (auto& p : moved) p = {p.x + n.x * side, p.y + n.y * side};
                path(s, moved, attributes);
            }
        } else {
            path(s, s.points, attributes);
        }
        if (s.arrow) head(s);
    }

    void head(const Shape& s) {
        const Point tip = s.points.back(), from = s.points[s.points.size() - 2];
        const float length = std::hypot(tip.x - from.x, tip.y - from.y);
        if (length <= 0) return;
        const Point d{(tip.x - from.x) / length, (tip.y - from.y) / length};
        const float size = 6 + s.width;
        const Point base{tip.x - d.x * size, tip.y - d.y * size};
        body_ += "<polygon points=\"" +
                 list({tip,
                       {base.x - d.y * size * 0.5F, base.y + d.x * size * 0.5F},
                       {base.x + d.y * size * 0.5F, base.y - d.x * size * 0.5F}}) +
                 "\" fill=\"" + palette_(s.stroke) + "\" fill-opacity=\"" + num(s.stroke_alpha) + "\"/>\n";
    }

    /// Ink on a filled hue gives way to white where that reads better.
    std::string colour_of_text(const Shape& s) const {
        const std::string ink = palette_(s.fill);
        if (s.fill != Token::ink || s.on == Token::none) return ink;
        const double under = luminance(palette_(s.on)) + 0.05;
        return 1.05 / under > under / (luminance(ink) + 0.05) ? "#FFFFFF" : ink;
    }

    void words(const Shape& s) {
        const char* anchor = s.align == Align::left ? "start" : s.align == Align::centre ? "middle" : "end";
        const float x = s.align == Align::left     ? s.box.x
                        : s.align == Align::centre ? s.box.x + s.box.w / 2
                                                   : s.box.x + s.box.w;
        const float size = face_size(s.face), em = size * (is_mono(s.face) ? kMonoEm : kEm);
        const std::string length = measure_ == nullptr || s.text.size() < 2
                                       ? ""
                                       : " textLength=\"" + num(measure_->width(s.text, s.face)) +
                                             "\" lengthAdjust=\"spacingAndGlyphs\"";
        body_ += "<text x=\"" + num(x) + "\" y=\"" + num(s.box.y + s.box.h / 2 + size * kBaseline) +
                 "\" font-family=\"" + (is_mono(s.face) ? kMonoFaces : kFaces) + "\" font-size=\"" + num(em) +
                 "\"" + length + " fill=\"" + colour_of_text(s) + "\" fill-opacity=\"" + num(s.fill_alpha) +
                 "\" text-anchor=\"" + anchor + "\" xml:space=\"preserve\">" + xml_text(s.text) + "</text>\n";
    }

    void write(const Shape& s) {
        switch (s.kind) {
            case ShapeKind::text:
                words(s);
                break;
            case ShapeKind::line:
            case ShapeKind::polyline:
            case ShapeKind::bezier:
                lines(s);
                break;
            default:
                geometry(s, paint(s));
                if (const auto over = hatch(s); !over.empty()) geometry(s, over);
        }
    }

    const Picture& picture_;
    const Palette& palette_;
    const TextMeasure* measure_;
    std::string defs_, body_;
    int patterns_ = 0;
};

}  // namespace

std::string svg(const Picture& picture, const Palette& palette, const TextMeasure* measure) {
    return Writer(picture, palette, measure).write();
}

namespace {

/// The colour nearest to this one that is not among those of `taken`; they differ in blue.
std::string shade_off(const std::string& colour, const std::map<std::string, std::string>& taken) {
    const long value = std::strtol(colour.c_str() + 1, nullptr, 16);
    const long way = (value & 0xFF) < 128 ? 1 : -1;
    std::array<char, 24> text{};
    long by = 0;
    do {
        by += way;
        std::snprintf(text.data(), text.size(), "#%06lX", value + by);
    } while (taken.contains(text.data()));
    return text.data();
}

}  // namespace

std::string svg(const Picture& picture, const Palette& light, const Palette& dark,
                const TextMeasure* measure) {
    std::string text = svg(picture, light, measure);
    const std::string other = svg(picture, dark, measure);
    constexpr std::string_view kBefore = "=\"#";
    std::map<std::string, std::string> dark_of;                           // by the light colour
    std::map<std::pair<std::string, std::string>, std::string> drawn_as;  // of both colours the light one
    for (std::size_t at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at + 1)) {
        const std::size_t begin = at + kBefore.size() - 1;
        const std::string own = text.substr(begin, 7), its = other.substr(begin, 7);
        auto [found, fresh] = drawn_as.try_emplace({own, its}, own);
        if (fresh && dark_of.contains(own)) found->second = shade_off(own, dark_of);
        dark_of.emplace(found->second, its);
        text.replace(begin, own.size(), found->second);
    }
    std::string rules;
    for (const auto& [own, its] : dark_of)
        for (const std::string name : {"fill", "stroke"})
            rules += "[" + name + "=\"" + own + "\"]{" + name + ":" + its + "}";
    text.insert(text.find("<defs>"), "<style>@media (prefers-color-scheme:dark){" + rules + "}</style>");
    return text;
}

float face_size(Face face) {
    switch (face) {
        case Face::caption:
        case Face::mono_small:
            return 14;
        case Face::body:
        case Face::mono:
            return 16;
        case Face::title:
        case Face::mono_title:
            return 20;
        case Face::lesson_title:
            return 22;
        case Face::display:
            return 28;
    }
    return 16;
}

bool is_mono(Face face) {
    return face == Face::mono_small || face == Face::mono || face == Face::mono_title;
}

}  // namespace meshscope::view
