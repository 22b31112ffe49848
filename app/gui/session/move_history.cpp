#include "app/gui/session/move_history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/gui/session/app_state.h"
#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/moved_block.h"
#include "app/gui/session/open_runs.h"
#include "app/gui/session/sandbox_actions.h"

namespace meshscope::session {
namespace {

using Run = std::shared_ptr<const Document>;

int64_t begin_of(const view::PipelineGrid& grid) {
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (const view::PipelineLane& lane : grid.lanes)
        if (!lane.blocks.empty()) begin = std::min(begin, lane.blocks.front().at.begin_ns);
    return begin;
}

std::size_t place_among_runs(const AppState& s, const Run& run) {
    return static_cast<std::size_t>(std::ranges::find(s.runs, run) - s.runs.begin());
}
bool is_open(const AppState& s, const Run& run) {
    return place_among_runs(s, run) < s.runs.size();
}

/// A lesson shows one of its runs at a time: its own or a variant's. Where another of them is open, this one
/// takes its place, so that the lesson is not open twice.
bool put_for_its_lesson(AppState& s, const Run& wanted) {
    const auto lesson_of = [](const Run& run) {
        return run->lesson ? run->lesson.get() : run->steps.empty() ? nullptr : run.get();
    };
    const Document* const lesson = lesson_of(wanted);
    const auto open = std::ranges::find_if(
        s.runs, [&](const Run& run) { return lesson != nullptr && lesson_of(run) == lesson; });
    if (open == s.runs.end()) return false;
    *open = wanted;
    return true;
}

/// A run of the history takes the place of the one in front, among the runs too; the view, the selected
/// block, the cursor's step and how far it is in it stay as they are.
void put_made(AppState& s, const Run& wanted) {
    const auto view = s.view;
    const auto forms = s.forms;
    const int64_t t_ns = s.cursor.t_ns;
    const view::Selection selection = s.selection;
    const int32_t step = step_at_cursor(s, *s.document);
    const auto before = shown_grid(s, *s.document, step);
    const auto block = before ? find_block(*before, s.selection) : std::nullopt;
    bring_to_front(s, place_among_runs(s, wanted));
    if (s.document != wanted) show_run_of_step(s, false);  // a lesson's own, where its step shows a variant's
    s.view = view;
    s.forms = forms;
    s.selection.rank = selection.rank;
    s.selection.asking_rank = selection.asking_rank;
    s.selection.drop_event();
    const auto after = shown_grid(s, *s.document, step);
    if (before == nullptr || after == nullptr) return move_cursor(s, t_ns);
    move_cursor(s, begin_of(*after) + t_ns - begin_of(*before));
    if (step_at_cursor(s, *s.document) != step) move_cursor(s, begin_of(*after));  // a shorter step
    const auto [lane, at] = block.value_or(std::pair(after->lanes.size(), std::size_t{0}));
    if (lane >= after->lanes.size()) return;
    const view::PipelineBlock& was = before->lanes[lane].blocks[at];
    for (const view::PipelineBlock& now : after->lanes[lane].blocks)
        if (now.kind == was.kind && now.stage == was.stage && now.microbatch == was.microbatch)
            s.selection.choose_event(after->lanes[lane].rank, now.first);
}

/// The history's run of that number is in front. The one before any move stays beside those that came of it,
/// of which one is open at a time.
void show_made(AppState& s, std::size_t number) {
    const Run shown = s.document, wanted = s.moved->made[number], first = s.moved->made.front();
    if (!is_open(s, wanted)) {
        if (shown == first)
            add_run(s, {{"", "", wanted->name, kMovedBlock, first}, wanted});
        else if (wanted != first || !put_for_its_lesson(s, wanted))
            s.runs[place_among_runs(s, shown)] = wanted;
    }
    if (wanted != first && std::ranges::find(s.what_ifs, wanted, &WhatIfRun::answer) == s.what_ifs.end())
        s.what_ifs.push_back({kMovedBlock, first, wanted});
    put_made(s, wanted);
    if (shown != first && is_open(s, shown)) close_run(s, place_among_runs(s, shown));
}

}  // namespace

int64_t kept_bytes(const Document& run) {
    const auto bytes = [](const auto& items) {
        return static_cast<int64_t>(items.size() * sizeof(items.front()));
    };
    int64_t all = 0;
    for (const trace::RankTrace& rank : run.trace->ranks)
        all += bytes(rank.events) + bytes(rank.dependencies) + bytes(rank.hops) + bytes(rank.pieces) +
               bytes(rank.snapshots) + bytes(rank.values) + bytes(rank.memory) + bytes(rank.parameters);
    for (const time::Clock* clock : {&run.modelled, &run.measured})
        for (const auto& times : clock->events) all += bytes(times);
    return all;
}

void keep_within(MovedRuns& moved, int64_t most_bytes) {
    int64_t all = 0;
    for (std::size_t i = 1; i < moved.made.size(); ++i) all += kept_bytes(*moved.made[i]);
    while (all > most_bytes && moved.made.size() > 2) {
        all -= kept_bytes(*moved.made[1]);
        moved.made.erase(moved.made.begin() + 1);
    }
}

std::optional<std::size_t> open_moved(const AppState& s) {
    for (std::size_t i = 1; s.moved && i < s.moved->made.size(); ++i)
        if (is_open(s, s.moved->made[i])) return i;
    return {};
}

std::optional<std::size_t> place_in_history(const AppState& s) {
    if (!s.moved || !s.document) return {};
    const auto found = std::ranges::find(s.moved->made, s.document);
    if (found == s.moved->made.end()) return {};
    const auto place = static_cast<std::size_t>(found - s.moved->made.begin());
    return place == 0 && open_moved(s) ? std::nullopt : std::optional(place);
}

void add_moved(AppState& s, const RunRequest& request, std::shared_ptr<const Document> answer) {
    if (request.asked_of != s.document) return add_run(s, {request, std::move(answer)});  // gone elsewhere
    const auto place = place_in_history(s);
    if (!place) s.moved = MovedRuns{{s.document}};
    auto& made = s.moved->made;
    made.resize(place.value_or(0) + 1);
    made.push_back(std::move(answer));
    show_made(s, made.size() - 1);
    keep_within(*s.moved, kMostMovedBytes);
}

bool can_undo_move(const AppState& s) {
    return !s.running && !blocks_stay(s) && place_in_history(s).value_or(0) > 0;
}

bool can_redo_move(const AppState& s) {
    const auto place = place_in_history(s);
    return !s.running && !blocks_stay(s) && place && *place + 1 < s.moved->made.size();
}

void undo_move(AppState& s) {
    if (can_undo_move(s)) show_made(s, *place_in_history(s) - 1);
}

void redo_move(AppState& s) {
    if (can_redo_move(s)) show_made(s, *place_in_history(s) + 1);
}

bool can_ask_usual_order(const AppState& s) {
    return !s.running && !blocks_stay(s) && s.document->order && s.document->order->own() &&
           can_run_otherwise(*s.document);
}

std::optional<AskWhatIf> usual_order(AppState& s) {
    if (!can_ask_usual_order(s)) return {};
    const sandbox::PipelineOrder& order = *s.document->order;
    if (place_in_history(s).value_or(0) > 0 && !s.moved->made.front()->order->own()) {
        show_made(s, 0);
        return {};
    }
    return AskWhatIf{kMovedBlock, order.changes_to(order.usual())};
}

}  // namespace meshscope::session
