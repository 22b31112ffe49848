#pragma once

#include <string>
#include <vector>

#include "app/gui/view/paint.h"

namespace meshscope::view {

/// Lays out a page of words from top to bottom between two margins, as columns of facts do: heads, rows,
/// paragraphs, code. What it draws it also tells (copy-as-text). `y` moves down with each call.
class Sheet {
  public:
    Sheet(Painter& painter, float left, float right_end, float top)
        : p(painter), x(left), right(right_end), y(top) {}

    float width() const { return right - x; }
    /// Caption at the left, a note at the right where both fit, else below, and a hairline.
    void head(const std::string& words, const std::string& note = {}, Id note_id = {});
    /// Label at the left, value at the right; the value below where both do not fit. `face`: of the value.
    void row(const std::string& label, const std::string& value, Face face = Face::mono_small,
             Token colour = Token::text);
    void paragraph(const std::string& words, Face face = Face::body, Token colour = Token::soft, Id id = {});
    /// Lines of code in an inset box, wrapped.
    void code(const std::string& words, Token colour = Token::soft);
    void space(float height) { y += height; }

    Painter& p;
    float x, right, y;
};

/// A facts column as a picture that grows downwards: heads, sentences, rows with a figure at the right, sums.
/// Everything drawn is told as text too.
class FactList {
  public:
    explicit FactList(const Input& input);

    void head(const std::string& words, const std::string& note);
    void sentence(const std::string& words, const Id& id = {}, Token colour = Token::soft);
    /// A swatch, what it is (or `brief` where that is too long), its figure; below it what else is known.
    /// Returns the swatch, to be filled otherwise; it stays valid until the next call.
    Shape& row(Token hue, const std::string& what, const std::string& brief, const std::string& figure,
               const std::string& note, const Id& id);
    /// `told`: the figure as text is copied, where that is another one.
    void sum(const std::string& words, const std::string& figure, const std::string& told = {});
    void space(float pixels) { y += pixels; }
    /// As high as the size, or higher.
    Picture take();

    static constexpr float kPad = 24;
    float width() const { return right - kPad; }

    Painter p;
    float y = 14;  ///< where the next line begins
    const float right;

  private:
    float height_;
};

/// A button with these words, broken into lines where they are wider than `most`; returns its box.
Rect draw_button(Painter& painter, Point at, float most, const std::string& words, const Id& id,
                 bool primary);

/// One of several choices inside a picture; a click answers with its id.
struct Chip {
    std::string words;
    Id id;
    bool on = false;
};

/// Chips side by side from `at`, in as many rows as the width up to `right` takes; the chosen ones lit. Gives
/// the y below the last row. A chip wider than a row is left out; in a film all are.
float draw_chips(Painter& painter, const std::vector<Chip>& chips, Point at, float right);
/// What they take in one row.
float chips_width(const Painter& painter, const std::vector<Chip>& chips);

inline constexpr float kChip = 26;  ///< their height

}  // namespace meshscope::view
