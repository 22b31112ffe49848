#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshscope::view {

/// What a view-model makes: plain shapes and texts, in logical pixels (before the UI scale), origin top left.
/// ImGui, SVG and copy-as-text are renderers of this list. No colour values here: a Token names one, the
/// theme gives its value.

struct Point {
    float x = 0, y = 0;
};
struct Rect {
    float x = 0, y = 0, w = 0, h = 0;
    bool contains(Point p) const { return p.x >= x && p.x < x + w && p.y >= y && p.y < y + h; }
};

/// The colours of look.md section 2, by name.
enum class Token : uint8_t {
    none,
    bg,
    panel,
    raised,
    inset,
    line,
    line2,
    text,
    soft,
    mute,
    accent,
    accentbg,
    onacc,
    ok,
    warn,
    err,
    sel,
    compute,
    ghost,
    sky,
    orange,
    green,
    pink,
    yellow,
    blue,
    red,
    grey,
    ink,
    heat0,  ///< amounts, from little to much: the kHeats steps of cividis, the same in every theme
    heat_last = heat0 + 15
};
inline constexpr int kHeats = 16;

/// The step of cividis for a share of the most, 0 … 1 (clamped).
inline Token heat(double share) {
    const double at = share < 0 ? 0 : share > 1 ? 1 : share;
    return static_cast<Token>(static_cast<int>(Token::heat0) + static_cast<int>(at * (kHeats - 1) + 0.5));
}

enum class Stroke : uint8_t { solid, dashed, dotted, dash_dot, double_line };
enum class Fill : uint8_t { none, solid, hatch, dense_hatch, cross_hatch };
enum class Face : uint8_t { caption, body, title, lesson_title, display, mono_small, mono, mono_title };
enum class Align : uint8_t { left, centre, right };

/// What a shape stands for: hovered, clicked and looked up by tests. Empty kind = decoration.
struct Id {
    std::string kind;  ///< "rank", "event", "chunk", "group", "cell", "label", "button" …
    int64_t a = -1, b = -1;
    friend bool operator==(const Id&, const Id&) = default;
};

enum class ShapeKind : uint8_t { rect, circle, line, polyline, polygon, bezier, text };

struct Shape {
    ShapeKind kind = ShapeKind::rect;
    Id id;
    Rect box;                   ///< rect; circle: centre and radius are box's; text: where it was laid out
    std::vector<Point> points;  ///< line (2), polyline, polygon, bezier (4)
    float radius = 0;           ///< rect corners
    Token fill = Token::none;
    float fill_alpha = 1;
    Fill pattern = Fill::solid;
    Token hatch =
        Token::none;  ///< colour of the pattern's lines, over the fill; none: the fill's own at full strength
    Token stroke = Token::none;  ///< of a text: unused; a text's colour is `fill` with fill_alpha
    float stroke_alpha = 1;
    float width = 1;
    Stroke stroke_style = Stroke::solid;  ///< double_line: two lines of `width`, 4 px apart
    bool arrow = false;                   ///< arrow head at the last point
    std::string text;
    Token on = Token::none;  ///< a text on a filled hue: which one. The renderer then picks ink or white by
                             ///< contrast (the theme's on_compute for Token::compute) instead of `fill`
    Face face = Face::body;
    Align align = Align::left;
    int layer = 0;  ///< drawn in ascending order, stable
};

/// A finished picture. `text_lines` is the same facts in words, for copy-as-text and screen readers.
struct Picture {
    float width = 0, height = 0;
    float content_height =
        0;  ///< what everything would need; > height: the panel may scroll (see each view's options)
    std::vector<Shape> shapes;
    std::vector<std::string> text_lines;
};

/// Measures text as the renderer will draw it, in logical pixels.
class TextMeasure {
  public:
    virtual ~TextMeasure() = default;
    virtual float width(const std::string& text, Face face) const = 0;
    virtual float line_height(Face face) const = 0;
};

}  // namespace meshscope::view
