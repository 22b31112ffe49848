#include <algorithm>

#include "app/gui/session/app_state.h"
#include "app/gui/view/collective_view.h"

namespace meshscope::session {

const time::Clock* shown_clock(const AppState& state) {
    if (!state.document) return nullptr;
    return state.clock == time::ClockKind::measured ? &state.document->measured : &state.document->modelled;
}

std::optional<view::EventRef> shown_event(const AppState& state) {
    if (!state.document) return {};
    if (state.selection.event && state.selection.event_rank) {
        return view::EventRef{*state.selection.event_rank, *state.selection.event};
    }
    int32_t rank = state.selection.rank.value_or(state.selection.asking_rank);
    // A lesson step may show a larger mesh than the run had.
    if (rank >= static_cast<int32_t>(state.document->trace->ranks.size())) rank = 0;
    // Beside the picture of a call stand the facts of that call.
    if (state.view == view::ViewKind::collective)
        if (const auto shown = view::shown_collective(*state.document->trace, *shown_clock(state),
                                                      state.cursor, state.selection))
            return view::EventRef{shown->rank, shown->event};
    return view::event_at(*state.document->trace, *shown_clock(state), state.cursor, rank);
}

std::size_t front_run(const AppState& state) {
    const auto found = std::find(state.runs.begin(), state.runs.end(), state.document);
    return found == state.runs.end() ? 0 : static_cast<std::size_t>(found - state.runs.begin());
}

std::shared_ptr<const Document> open_lesson(const AppState& state) {
    if (state.document && !state.document->steps.empty()) return state.document;
    for (const auto& run : state.runs)
        if (!run->steps.empty()) return run;
    return nullptr;
}

int32_t lane_rank(const AppState& state, std::size_t run) {
    const view::Selection& chosen = state.selection;
    const bool front = state.runs[run] == state.document;
    const int32_t focus = chosen.rank         ? *chosen.rank
                          : chosen.event_rank ? *chosen.event_rank
                                              : chosen.asking_rank;
    // The selected event is always seen in its own lanes.
    const int32_t rank =
        front && chosen.event_rank ? *chosen.event_rank : state.lane_ranks[run].value_or(focus);
    const auto ranks = static_cast<int32_t>(state.runs[run]->trace->ranks.size());
    return std::clamp(rank, 0, std::max(0, ranks - 1));
}

}  // namespace meshscope::session
