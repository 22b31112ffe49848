#pragma once

#include <string>
#include <vector>

#include "app/gui/view/input.h"

namespace meshscope::view {

/// Builds a Picture: short calls for the shapes that views share, and the one place where texts are measured
/// and kept apart. A text that finds no room is not drawn (look.md section 8: the full label, the short one,
/// or none).
///
/// Returned references stay valid until the next call that adds a shape.
class Painter {
  public:
    explicit Painter(const Input& input);

    int layer = 0;    ///< given to every shape made from now on
    float alpha = 1;  ///< multiplied into fills and strokes of every shape made from now on

    Shape& rect(Rect box, Token fill, float radius = 0, Id id = {});
    Shape& outline(Rect box, Token stroke, float width = 1, float radius = 0, Id id = {});
    Shape& circle(Point centre, float radius, Token fill, Id id = {});
    Shape& line(Point from, Point to, Token stroke, float width = 1);
    Shape& polyline(std::vector<Point> points, Token stroke, float width = 1);
    Shape& polygon(std::vector<Point> points, Token fill, Id id = {});
    Shape& bezier(Point a, Point b, Point c, Point d, Token stroke, float width = 1);

    /// A text whose line box has its top at `at.y` and, by `align`, its left end, middle or right end at
    /// `at.x`. Always drawn; for places that were measured before.
    Shape& text(const std::string& text, Point at, Face face, Token colour, Align align = Align::left,
                Id id = {});
    /// The same, but only when it stays inside the picture and touches no text and no reserved place so far.
    bool try_text(const std::string& text, Point at, Face face, Token colour, Align align = Align::left,
                  Id id = {});
    /// A text in the middle of `box` (or at its left or right end), no higher than it: for cells and bars
    /// lower than a line. `on` names the filled hue below, if there is one. The text must be no wider than
    /// the box.
    Shape& label(Rect box, const std::string& text, Face face, Token colour, Token on = Token::none,
                 Id id = {}, Align align = Align::centre);
    /// The first of `choices` that is at most `width` wide; "" when none is.
    std::string fit(const std::vector<std::string>& choices, Face face, float width) const;
    /// Lines no wider than `width`: Latin breaks at spaces, Chinese anywhere but before closing marks. A word
    /// wider than a line is cut.
    std::vector<std::string> wrap(const std::string& text, Face face, float width) const;
    /// Draws wrapped text from `at` down; gives the y below it.
    float paragraph(const std::string& text, Point at, Face face, Token colour, float width, Id id = {});

    /// Draws and tells why there is nothing to see, from `at` down to the margin at.x at the right: id
    /// "empty". Gives the y below.
    float nothing(const std::string& words, Point at);

    /// Keeps try_text away from a place.
    void reserve(Rect box) { taken_.push_back(box); }
    bool is_free(Rect box) const;

    float width(const std::string& text, Face face) const { return input_.measure.width(text, face); }
    float line_height(Face face) const { return input_.measure.line_height(face); }
    /// The picture is of a film: controls are left out.
    bool watched() const { return input_.watched; }
    /// The sentence for a message, in the picture's language.
    std::string say(const std::string& id, std::vector<MessageArg> args = {}) const;
    /// Adds a line to the copy-as-text.
    void tell(std::string line) { picture_.text_lines.push_back(std::move(line)); }

    /// An origin's mark, drawn as a polygon (look.md section 3): 0 circle, 1 triangle, 2 square, 3 diamond, 4
    /// cross, 5 star, 6 pentagon, 7 ring; then again from the first.
    void symbol(Point centre, float radius, int64_t origin, Token colour = Token::none);
    /// A drawn tick.
    void tick(Point centre, float size, Token colour, float width = 1.6F);
    /// A drawn cross; `reach`: from its centre to its ends, along each axis.
    void cross(Point centre, float reach, Token colour, float width = 1.6F, const Id& id = {});

    Picture& picture() { return picture_; }
    /// Before the first shape: how high the picture gets is known at the end, take(bottom).
    void grow() { picture_.content_height = 1e6F; }
    /// Sorts by layer and gives the picture away.
    Picture take();
    /// The same, as high as the size or down to `bottom`, whichever is more: the panel scrolls.
    Picture take(float bottom);

  private:
    Shape& add(Shape shape);
    const Input& input_;
    Picture picture_;
    std::vector<Rect> taken_;
};

/// The part of a cell, filled from its bottom to `filled`, in which a figure `line` high stands whole: all of
/// it, or where the fill's edge would run through the figure the filled part, else the empty one.
Rect off_edge(const Rect& cell, float filled, float line);

/// Where a bar's label stands when an upright line is drawn over it at `line_x`: the longer side of the line;
/// all of the bar where the line passes by. A line never goes through a word.
Rect aside(const Rect& bar, float line_x);

/// Hue and line pattern of a mesh dim: replicate, shard, tp, pp and cp have their own, a dim flattened from
/// them ("shard_cp") that of its data dim; others cycle by position.
Token dim_hue(const std::string& name, std::size_t position);
Stroke dim_stroke(const std::string& name, std::size_t position);
/// Hue of a chunk's owner by its place in the group, 0 … : eight, then again.
Token origin_hue(int64_t origin);
/// Hue of a collective and of its stream's lane.
Token op_hue(CollectiveOp op);
Token stream_hue(Stream stream);
/// Makes a shape what communication looks like: a tint of the hue, on which words can be read, in an outline.
void tint(Shape& shape, Token hue);

/// Where corners of `box` grown by `margin` lie, rounded: the convex hull of several boxes.
std::vector<Point> hull(const std::vector<Rect>& boxes, float margin);
bool inside(const std::vector<Point>& polygon, Point p);
Point bezier_at(Point a, Point b, Point c, Point d, float t);
/// 0 → 0, 1 → 1, slow at both ends; clamped.
float ease_in_out_cubic(float t);
float ease_out_quint(float t);

}  // namespace meshscope::view
