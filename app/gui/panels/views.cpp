#include "app/gui/panels/views.h"

#include <algorithm>
#include <utility>

#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/format.h"
#include "core/base/kinds.h"

namespace meshscope::panels {
namespace views {

// One a file in views/.
#define MESHSCOPE_VIEW(word) extern const View word;
#include "core/base/views.def"
#undef MESHSCOPE_VIEW

}  // namespace views

namespace {

constexpr const View* kViews[] = {
#define MESHSCOPE_VIEW(word) &views::word,
#include "core/base/views.def"
#undef MESHSCOPE_VIEW
};

/// The event that an id names by a (rank) and b (event).
view::EventRef event_named(const view::Id& id) {
    return {static_cast<int32_t>(id.a), static_cast<int32_t>(id.b)};
}

Actions set_clock(const Ui&, const view::Id& id, bool) {
    return {session::SetClock{static_cast<time::ClockKind>(id.a)}};
}

Actions set_form(const Ui&, const view::Id& id, bool) {
    return {session::SetForm{static_cast<view::Form>(id.a)}};
}

/// The timeline's range becomes the step.
Actions zoom_to_step(const Ui& ui, const view::Id& id, bool twice) {
    if (!twice) return {};
    const time::Interval at = time::span_of_step(*ui.state.document->trace, *session::shown_clock(ui.state),
                                                 static_cast<int32_t>(id.a));
    return {session::SetRange{at.begin_ns, at.end_ns}};
}

Actions without_faults(const Ui&, const view::Id&, bool twice) {
    if (twice) return {};
    return {session::ask_without_faults()};
}
Actions compare_runs(const Ui&, const view::Id&, bool twice) {
    if (twice) return {};
    return {session::SetView{view::ViewKind::compare}};
}
Actions copy_end(const Ui& ui, const view::Id&, bool twice) {
    const view::RunEnd* end = told_end(ui);
    if (twice || end == nullptr) return {};
    return {session::CopyText{ui.say(end->what.id, end->what.args)}, session::ShowToast{ui.say("ui.copied")}};
}

/// To the begin of a rank's wait.
Actions go_to_wait(const Ui& ui, const view::Id& id, bool twice) {
    if (twice || id.b < 0) return {};
    const time::Clock& clock = *session::shown_clock(ui.state);
    const time::Interval at = clock.events[static_cast<size_t>(id.a)][static_cast<size_t>(id.b)];
    return {session::SetCursor{at.begin_ns}, session::SelectEvent{event_named(id), false}};
}
std::string wait_status(const Ui& ui, Memory& memory, const view::Id& id) {
    return id.b < 0 ? rank_status(ui, memory, id) : event_status(ui, memory, id);
}

constexpr Target kCommon[] = {
    {"rank", select_rank, rank_status},
    {"lane", select_rank, rank_status},
    {"live_rank", select_rank, rank_status},
    {"event", select_event, event_status},
    {"merged", select_event, event_status},
    {"step", zoom_to_step},
    {"clock", set_clock},
    {"form", set_form},
    {"end_show", once<session::GoToEnd>},
    {"end_fold", once<session::ToggleEnd>},
    {"end_rerun", without_faults},
    {"end_compare", compare_runs},
    {"end_copy", copy_end},
    {"wait", go_to_wait, wait_status},
};

}  // namespace

const View& view_of(view::ViewKind kind) {
    return *kViews[static_cast<std::size_t>(kind)];
}

std::span<const Target> common_targets() {
    return kCommon;
}

const Target* find_target(const View& view, std::string_view kind) {
    for (const std::span<const Target> targets : {view.targets, common_targets()}) {
        const auto found = std::ranges::find(targets, kind, &Target::kind);
        if (found != targets.end()) return &*found;
    }
    return nullptr;
}

std::vector<std::shared_ptr<const session::Document>> variants_of_step(const Ui& ui) {
    const session::AppState& s = ui.state;
    if (!std::cmp_less(s.lesson_step, s.document->steps.size()) || ui.quiz_mask.open()) return {};
    return s.document->steps[static_cast<std::size_t>(s.lesson_step)].beside;
}

std::vector<std::shared_ptr<const session::Document>> runs_beside(const Ui& ui) {
    const session::AppState& s = ui.state;
    auto runs = variants_of_step(ui);
    for (const auto& run : s.runs)
        if (run != s.document) runs.push_back(run);
    return runs;
}

Actions select_rank(const Ui&, const view::Id& id, bool) {
    return {session::SelectRank{static_cast<int32_t>(id.a)}};
}

Actions select_event(const Ui& ui, const view::Id& id, bool twice) {
    const auto rank = static_cast<size_t>(id.a), event = static_cast<size_t>(id.b);
    const time::Interval at = session::shown_clock(ui.state)->events.at(rank).at(event);
    const int64_t now = session::resting_time(ui.state);
    const bool is_there = at.begin_ns <= now && now <= at.end_ns;
    return {session::SelectEvent{event_named(id), twice || !is_there}};
}

Actions go_to_event(const Ui& ui, const view::Id& id, bool) {
    return select_event(ui, id, true);
}

std::string rank_status(const Ui&, Memory&, const view::Id& id) {
    return "rank " + std::to_string(id.a);
}

std::string event_status(const Ui& ui, Memory&, const view::Id& id) {
    return event_words(*ui.state.document->trace, *session::shown_clock(ui.state),
                       static_cast<std::size_t>(id.a), static_cast<std::size_t>(id.b));
}

std::string event_words(const trace::Trace& trace, const time::Clock& clock, std::size_t rank,
                        std::size_t index) {
    if (rank >= trace.ranks.size() || index >= trace.ranks[rank].events.size()) return {};
    const trace::Event& event = trace.ranks[rank].events[index];
    const time::Interval at = clock.events[rank][index];
    const std::string op = event.kind == trace::EventKind::compute ? std::string(trace.text(event.name))
                                                                   : std::string(name(event.op));
    return "rank " + std::to_string(rank) + " · " + op + " " + std::string(trace.text(event.unit)) + " · " +
           view::format_time(at.end_ns - at.begin_ns);
}

time::Interval film_of_event(const session::Document& document, const time::Clock& clock, view::EventRef at) {
    time::Interval span = clock.events[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.event)];
    const int32_t step = document.trace->event(at.rank, at.event).step;
    const time::Interval whole = time::span_of_step(*document.trace, clock, step);
    const int64_t length = std::max(span.end_ns - span.begin_ns, (whole.end_ns - whole.begin_ns) / 4);
    span.end_ns = std::min(span.begin_ns + length, clock.end_ns);
    span.begin_ns = std::max<int64_t>(0, std::min(span.begin_ns, span.end_ns - length));
    return span;
}

}  // namespace meshscope::panels
