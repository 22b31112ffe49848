#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/gui/panels/panels.h"
#include "app/gui/session/actions.h"
#include "app/gui/window/imgui_host.h"
#include "app/gui/window/keys.h"
#include "app/i18n/catalogue.h"

namespace meshscope::gui {

/// The state and the panels on an ImGui host: one frame after the other. With a GL host it is what a user
/// sees, with a plain host it is what tests click on.
class Stage {
  public:
    Stage(window::ImGuiHost& host, const i18n::Catalogue& catalogue);

    const session::AppState& state() const { return state_; }
    /// Applies an action at once.
    void act(const session::Action& action);
    /// Goes on from this state: an export's start.
    void resume(session::AppState state) { state_ = std::move(state); }
    /// From now on each frame notes the pictures that its panels draw there; null: no more.
    void note_pictures(std::vector<panels::Drawn>* drawn) { drawn_ = drawn; }
    /// Whether the next frames also say as text what they show (Memory::told).
    void tell(bool so) { memory_.tells = so; }
    /// A key press: moves the keyboard focus, or means an action.
    void key(window::KeyPress press);

    /// One frame of width × height pixels; time has moved on by `seconds`. `content_scale`: the display's own
    /// scale. What the user did in it is applied before it returns. Texts that did not fit: overflows().
    ImDrawData* frame(int width, int height, double seconds, float content_scale = 1);

    /// What the outside has to do since the last call.
    session::Effects take_effects();
    const std::vector<panels::Overflow>& overflows() const { return overflows_; }
    bool typing() const { return typing_; }
    /// Whether the user did something in the latest frame: what it changed is drawn in the next one, and
    /// parts that it made longer or scrolled stand right in the one after that.
    bool acted() const { return acted_; }
    /// Whether the next frame differs though nobody touches anything.
    bool moving() const { return session::in_motion(state_) || moving_; }
    /// Screen pixels a logical pixel, in the latest frame.
    float pixels_a_unit() const { return pixels_; }
    const panels::Memory& memory() const { return memory_; }
    /// Fonts that are missing, told once each time they were looked for.
    std::vector<Message> take_messages();

  private:
    void refresh_glyphs();
    /// Of the layout of films: all sizes in it are of a frame of this size.
    static constexpr float kFilmWidth = 1280, kFilmHeight = 720;
    float film_scale(int width, int height);
    /// What a film shows: its picture keeps its size for as long.
    struct Filmed {
        const session::Document* document = nullptr;
        int32_t step = -1;
        view::ViewKind view = view::ViewKind::mesh;
        friend bool operator==(const Filmed&, const Filmed&) = default;
    };
    Filmed filmed_;

    window::ImGuiHost& host_;
    const i18n::Catalogue& catalogue_;
    session::AppState state_;
    panels::Memory memory_;
    session::Effects effects_;
    std::vector<panels::Overflow> overflows_;
    std::vector<Message> messages_;
    std::string glyphs_;
    std::vector<std::shared_ptr<const session::Document>> glyphs_of_;  ///< the runs whose texts are in it
    bool glyphs_ready_ = false;
    bool typing_ = false;
    bool moving_ = false;
    bool acted_ = false;
    std::vector<panels::Drawn>* drawn_ = nullptr;
    float pixels_ = 1;
};

}  // namespace meshscope::gui
