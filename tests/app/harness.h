#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/gui/main/stage.h"
#include "app/gui/session/document.h"
#include "app/i18n/catalogue.h"

namespace meshscope::test {

/// The lesson of that folder below scenarios/, really run; once a process.
std::shared_ptr<const session::Document> lesson(const std::string& folder = "63_hsdp");

const i18n::Catalogue& catalogue();

/// The program's panels on an ImGui context with a pointer, and no window, GL or display.
class Harness {
  public:
    explicit Harness(int width = 1280, int height = 720);

    gui::Stage& stage() { return stage_; }
    const session::AppState& state() const { return stage_.state(); }
    void open(std::shared_ptr<const session::Document> document);
    void frames(int count = 1, double seconds = 1.0 / 60);
    /// Time passes until nothing moves.
    void settle();
    void resize(int width, int height);

    /// Moves the pointer (logical pixels), presses and releases.
    void click(view::Point at);
    void drag(view::Point from, view::Point to);
    /// A drag's two parts: there with the button held, and letting it go.
    void hold(view::Point from, view::Point to);
    void release();
    void wheel(view::Point at, float notches);
    void key(window::Key key, bool shift = false, bool control = false);
    /// What a keyboard would type into the field that has the focus.
    void type(const std::string& text);
    /// Enter, as the field that has the keyboard takes it.
    void enter();
    /// Where a widget or a picture's shape stands: its middle. Throws when it is not on screen.
    view::Point widget(const std::string& id) const;
    view::Point shape(const std::string& kind, int64_t a, int64_t b = -1) const;
    bool has_widget(const std::string& id) const;
    /// True when the running text's face has a glyph of its own for this character.
    bool draws(char32_t character) const { return host_.fonts().has(view::Face::body, character); }

  private:
    window::ImGuiHost host_;
    gui::Stage stage_;
    int width_, height_;
};

}  // namespace meshscope::test
