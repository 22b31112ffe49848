#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/panels/panels.h"

namespace meshscope::panels {

/// A view is one file, app/gui/panels/views/WORD.cpp, and a line in core/base/views.def: the file makes the
/// descriptor below, everything else that knows the views (tabs, keys, palette, --view, lessons, films,
/// exports, benches) goes through the list. Its words are "ui.view.WORD", "ui.view.WORD.short" and
/// "keys.WORD" in app/i18n.

using Actions = std::vector<session::Action>;

/// What the shapes of one kind (view::Id::kind) in a view's pictures mean under the pointer.
struct Target {
    std::string_view kind;
    /// What a click asks for. `twice`: the second press of a double click; a double click also delivers both
    /// of its clicks. Null: nothing.
    Actions (*click)(const Ui& ui, const view::Id& id, bool twice) = nullptr;
    /// What stands in the status line while the pointer is over it; null: nothing.
    std::string (*status)(const Ui& ui, Memory& memory, const view::Id& id) = nullptr;
};

/// How much of the window's left side a view takes.
enum class Breadth : uint8_t {
    beside_lesson,
    whole_without_lesson,  ///< a lesson's words stay beside the picture; without one their place is taken too
    whole
};

/// Draws a view's picture where the scene stands; `alone`: nothing stands below. fixed_scene: a picture that
/// keeps to the size it is given; scrolling_scene: one that may be higher.
void fixed_scene(Ui& ui, Memory& memory, Rect box, bool alone);
void scrolling_scene(Ui& ui, Memory& memory, Rect box, bool alone);
/// The timeline as it stands below another view.
void timeline_below(Ui& ui, Memory& memory, Rect box);

/// From when to when a film plays a lesson's step in this view, of which the step shows `at`.
/// film_of_event(): the event, or a quarter of its training step where that is longer.
using FilmSpan = time::Interval (*)(const session::Document& document, const time::Clock& clock,
                                    view::EventRef at);
time::Interval film_of_event(const session::Document& document, const time::Clock& clock, view::EventRef at);

struct View {
    /// The scene's picture; also what is copied as text.
    view::Picture (*picture)(const Ui& ui, Memory& memory, view::Size size);
    /// The facts column where it is a picture of the view's own. If null, or if it returns nothing, the
    /// column describes the selected event.
    std::optional<view::Picture> (*facts)(const Ui& ui, Memory& memory, view::Size size) = nullptr;
    /// What its shapes mean; those of common_targets() need not be named again.
    std::span<const Target> targets = {};

    /// Draws the scene: one of the two above, or the view's own where it has controls.
    void (*scene)(Ui& ui, Memory& memory, Rect box, bool alone) = scrolling_scene;
    /// What stands below the scene; null: the scene has the whole height.
    void (*below)(Ui& ui, Memory& memory, Rect box) = nullptr;
    /// Below this height of the window, in points, the lower panel is hidden.
    float least_height_shared = 0;
    Breadth breadth = Breadth::beside_lesson;
    /// More below the facts, from y on; returns the y below it.
    float (*below_facts)(Ui& ui, Memory& memory, float x, float y, float w) = nullptr;
    /// Kinds of shapes in the facts that Tab reaches.
    std::span<const std::string_view> facts_tab_stops = {};

    /// In these forms nothing stands below the scene, without a lesson it takes the whole left side, and the
    /// facts are a drawer where they would leave it too little.
    std::span<const view::Form> wide_forms = {};

    FilmSpan film = film_of_event;  ///< null: a still picture
    std::size_t least_runs = 1;     ///< that must be open for it to show anything
    bool collectives_only = false;  ///< a lesson's link to a unit goes to a collective of it
};

/// The descriptor of a view.
const View& view_of(view::ViewKind kind);

/// The targets that mean the same in every view: ranks, events, the timeline's controls.
std::span<const Target> common_targets();
/// What the shapes of this kind mean in a view: its own targets before the common ones; null: nothing.
const Target* find_target(const View& view, std::string_view kind);

/// The variants that the lesson's step names; none while its question is open, as they may answer it.
std::vector<std::shared_ptr<const session::Document>> variants_of_step(const Ui& ui);
/// The runs that a form lays beside the one in front: those, then the others that are open.
std::vector<std::shared_ptr<const session::Document>> runs_beside(const Ui& ui);

/// For targets: the rank, or the event, that an id names by a (rank) and b (event).
Actions select_rank(const Ui& ui, const view::Id& id, bool twice);
Actions select_event(const Ui& ui, const view::Id& id, bool twice);  ///< the cursor goes there, if it is not
Actions go_to_event(const Ui& ui, const view::Id& id, bool twice);   ///< the cursor goes there
/// For targets: a button that changes something at each press. Of a double click the first does.
template <class Kind>
Actions once(const Ui&, const view::Id&, bool twice) {
    if (twice) return {};
    return {Kind{}};
}
std::string rank_status(const Ui& ui, Memory& memory, const view::Id& id);
std::string event_status(const Ui& ui, Memory& memory, const view::Id& id);
/// "rank 1 · all_gather net1 · 2.1 µs": an event of a run on a clock; "" where there is none.
std::string event_words(const trace::Trace& trace, const time::Clock& clock, std::size_t rank,
                        std::size_t event);

}  // namespace meshscope::panels
