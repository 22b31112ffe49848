#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <vector>

#include "app/gui/panels/quiz_mask.h"
#include "app/gui/session/actions.h"
#include "app/gui/view/input.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/picture.h"
#include "app/gui/window/fonts.h"
#include "app/gui/window/looks.h"
#include "app/gui/window/theme.h"

namespace meshscope::panels {

using view::Align;
using view::Face;
using view::Point;
using view::Rect;
using view::Token;

/// A text that did not fit the room it was given; tests hold that there is none.
struct Overflow {
    std::string where, text;
    float measured = 0, available = 0;  ///< logical pixels
};

/// A picture that a panel drew.
struct Drawn {
    std::string panel;
    view::Picture picture;
};

/// What every panel draws with: theme, faces, words, scale, and where its wishes go. One a frame.
///
/// All positions and sizes are logical pixels of the whole window; px() makes screen pixels of them.
class Ui {
  public:
    Ui(const session::AppState& s, const window::Theme& t, const window::FontSet& f,
       const view::TextMeasure& m, const view::Texts& words, float ui_scale)
        : state(s), theme(t), fonts(f), measure(m), texts(words), scale(ui_scale), quiz_mask(s) {}

    const session::AppState& state;
    const window::Theme& theme;
    const window::FontSet& fonts;
    const view::TextMeasure& measure;
    const view::Texts& texts;
    float scale;
    const QuizMask quiz_mask;  ///< what the lesson's open question asks for

    view::Memo* memo = nullptr;            ///< for the views' Input
    ImDrawList* draw = nullptr;            ///< of the window being drawn
    window::Looks* looks = nullptr;        ///< what shaders draw; null: everything is drawn plainly
    std::string panel;                     ///< whose turn it is: named in overflow records
    std::vector<session::Action> actions;  ///< what the user did in this frame, in order
    std::vector<Overflow> overflows;
    std::optional<Point> pointer;         ///< over the scene: where, in its picture; set while that is made
    std::string status;                   ///< what the pointer is over, told in the status line
    bool typing = false;                  ///< a text field has the keyboard
    bool moving = false;                  ///< something moves by itself: one more frame is wanted
    std::vector<Drawn>* drawn = nullptr;  ///< where each picture is noted too, for an export of vectors

    float px(float logical) const { return logical * scale; }
    ImVec2 px(Point p) const { return {p.x * scale, p.y * scale}; }
    ImU32 colour(Token token, float alpha = 1) const;
    ImU32 word(Token token, float alpha = 1) const;
    static ImU32 pack(window::Rgb rgb, float alpha = 1);

    std::string say(const std::string& id, std::vector<MessageArg> args = {}) const;
    bool chinese() const { return state.language == view::Language::zh; }
    const std::string& pick(const scenario::Text& text) const;
    void act(session::Action action) { actions.push_back(std::move(action)); }

    float width(const std::string& text, Face face) const { return measure.width(text, face); }
    float line(Face face) const;

    /// One line of text whose box is `box` (vertically centred). Records an overflow when it is wider than
    /// the box. What the facts tell of the run goes through the cover; controls never do.
    void text(Rect box, const std::string& full, Face face, Token token, Align align = Align::left);
    /// The first of the two that fits in `available`; "" when neither does.
    std::string fit(const std::string& full, const std::string& brief, float available, Face face) const;

    void fill(Rect box, Token token, float radius = 0, float alpha = 1);
    void outline(Rect box, Token token, float radius = 0, float thickness = 1, float alpha = 1);
    void hairline(float x, float y, float w);
    /// A tick or a cross, about 14 high, its middle at `at`.
    void tick(Point at, Token token);
    void cross(Point at, Token token);
};

/// Breaks text into lines no wider than `width`: Chinese at any character except before closing marks, Latin
/// at spaces,
/// "\n" always. A single word that is too wide is broken where it must. Cost: linear.
std::vector<std::string> wrap(const view::TextMeasure& measure, const std::string& text, Face face,
                              float width);

/// Draws wrapped text from (x, y); returns the y below it.
float paragraph(Ui& ui, float x, float y, float width, const std::string& text, Face face, Token token);

}  // namespace meshscope::panels
