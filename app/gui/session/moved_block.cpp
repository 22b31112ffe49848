#include "app/gui/session/moved_block.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "app/gui/session/app_state.h"
#include "app/gui/session/cursor_moves.h"
#include "app/gui/session/open_runs.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/common.h"
#include "app/gui/view/pipeline_actions.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::session {
namespace {

using view::PipelineBlock;
using view::PipelineGrid;
using view::PipelineLane;

const time::Clock& clock_of(const AppState& s, const Document& run) {
    return s.clock == time::ClockKind::measured ? run.measured : run.modelled;
}

/// The step at the cursor.
int32_t step_of(const AppState& s, const Document& run, view::Memo* memo) {
    return std::max(0, view::step_at(*run.trace, clock_of(s, run), s.cursor.t_ns, memo));
}

std::shared_ptr<const PipelineGrid> grid_of(const AppState& s, const Document& run, int32_t step,
                                            view::Memo* memo) {
    return view::pipeline_grid(*run.trace, clock_of(s, run), view::focus_rank(*run.trace, s.selection), step,
                               memo);
}
std::shared_ptr<const PipelineGrid> grid_of(const AppState& s, const Document& run, view::Memo* memo) {
    return grid_of(s, run, step_of(s, run, memo), memo);
}

int64_t begin_of(const PipelineGrid& grid) {
    int64_t begin = std::numeric_limits<int64_t>::max();
    for (const PipelineLane& lane : grid.lanes)
        if (!lane.blocks.empty()) begin = std::min(begin, lane.blocks.front().at.begin_ns);
    return begin;
}

std::vector<std::size_t> places(const AppState& s, const PipelineGrid& grid, std::size_t lane) {
    return view::actions_of(grid.lanes[lane], s.document->order->rows()[lane])
        .value_or(std::vector<std::size_t>());
}

/// The lane and the block that a kernel belongs to.
std::optional<std::pair<std::size_t, std::size_t>> find_block(const PipelineGrid& grid,
                                                              const view::Selection& selection) {
    if (!selection.event || !selection.event_rank) return {};
    for (std::size_t l = 0; l < grid.lanes.size(); ++l) {
        const auto& blocks = grid.lanes[l].blocks;
        const auto found = std::ranges::find_if(blocks, [&](const PipelineBlock& block) {
            return *selection.event >= block.first && *selection.event <= block.last;
        });
        if (grid.lanes[l].rank == *selection.event_rank && found != blocks.end())
            return std::pair(l, static_cast<std::size_t>(found - blocks.begin()));
    }
    return {};
}

/// A run of the history takes the place of the one in front, among the runs too; the view, the selected
/// block, the cursor's step and how far it is in it stay as they are.
void put_made(AppState& s, const std::shared_ptr<const Document>& wanted) {
    const auto view = s.view;
    const auto forms = s.forms;
    const int64_t t_ns = s.cursor.t_ns;
    const view::Selection selection = s.selection;
    const int32_t step = step_of(s, *s.document, nullptr);
    const auto before = grid_of(s, *s.document, step, nullptr);
    const auto block = before ? find_block(*before, s.selection) : std::nullopt;
    bring_to_front(s, static_cast<std::size_t>(std::ranges::find(s.runs, wanted) - s.runs.begin()));
    s.view = view;
    s.forms = forms;
    s.selection.rank = selection.rank;
    s.selection.asking_rank = selection.asking_rank;
    s.selection.event_rank.reset();
    s.selection.event.reset();
    const auto after = grid_of(s, *wanted, step, nullptr);
    if (before == nullptr || after == nullptr) return move_cursor(s, t_ns);
    move_cursor(s, begin_of(*after) + t_ns - begin_of(*before));
    if (step_of(s, *wanted, nullptr) != step) move_cursor(s, begin_of(*after));  // a shorter step
    const auto [lane, at] = block.value_or(std::pair(after->lanes.size(), std::size_t{0}));
    if (lane >= after->lanes.size()) return;
    const PipelineBlock& was = before->lanes[lane].blocks[at];
    for (const PipelineBlock& now : after->lanes[lane].blocks)
        if (now.kind == was.kind && now.stage == was.stage && now.microbatch == was.microbatch) {
            s.selection.event_rank = after->lanes[lane].rank;
            s.selection.event = now.first;
        }
}

bool is_open(const AppState& s, const std::shared_ptr<const Document>& run) {
    return std::ranges::find(s.runs, run) != s.runs.end();
}

/// The run in front is the one of the history that was last there.
bool is_in_history(const AppState& s) {
    return s.moved && s.document && s.moved->made[s.moved->now] == s.document;
}

void close(AppState& s, const std::shared_ptr<const Document>& run) {
    close_run(s, static_cast<std::size_t>(std::ranges::find(s.runs, run) - s.runs.begin()));
}

/// The history's run of that number is in front. The one before any move stays beside those that came of it,
/// of which one is open at a time.
void show_made(AppState& s, std::size_t number) {
    const auto shown = s.document, wanted = s.moved->made[number], first = s.moved->made.front();
    s.moved->now = number;
    if (!is_open(s, wanted)) {
        if (shown == first)
            add_run(s, {{"", "", wanted->name, kMovedBlock, first}, wanted});
        else
            *std::ranges::find(s.runs, shown) = wanted;
    }
    if (wanted != first && std::ranges::find(s.what_ifs, wanted, &WhatIfRun::answer) == s.what_ifs.end())
        s.what_ifs.push_back({kMovedBlock, first, wanted});
    put_made(s, wanted);
    if (shown != first && is_open(s, shown)) close(s, shown);
}

}  // namespace

std::shared_ptr<const PipelineGrid> movable_grid(const AppState& s, view::Memo* memo) {
    if (!s.document || !s.document->order || s.film || s.live || open_question(s) != nullptr) return nullptr;
    if (scenario_text(*s.document).empty()) return nullptr;
    auto grid = grid_of(s, *s.document, memo);
    const auto& rows = s.document->order->rows();
    if (grid == nullptr || !grid->complete || grid->lanes.size() != rows.size()) return nullptr;
    for (std::size_t l = 0; l < rows.size(); ++l)
        if (!view::actions_of(grid->lanes[l], rows[l])) return nullptr;
    return grid;
}

MoveTried try_move(const AppState& s, const PipelineGrid& grid, const BlockMove& move) {
    const sandbox::PipelineOrder& order = *s.document->order;
    const auto of_block = places(s, grid, move.lane);
    const std::size_t action = of_block[move.from];
    std::size_t before = order.rows()[move.lane].size(), other = 0;
    for (const std::size_t place : of_block)
        if (place != action && other++ == move.to) {
            before = place;
            break;
        }
    const auto rows = sandbox::moved(order.rows(), move.lane, action, before);
    MoveTried tried;
    if (rows == order.rows()) return tried;
    tried.refusal = order.refusal(rows);
    if (!tried.refusal.refused()) tried.asks = AskWhatIf{kMovedBlock, order.changes_to(rows)};
    return tried;
}

std::optional<view::EventRef> block_of(const AppState& s, const PipelineGrid& grid, std::size_t lane,
                                       const std::string& action) {
    if (lane >= grid.lanes.size()) return {};
    const auto& row = s.document->order->rows()[lane];
    const auto of_block = places(s, grid, lane);
    for (std::size_t b = 0; b < of_block.size(); ++b)
        if (row[of_block[b]] == action)
            return view::EventRef{grid.lanes[lane].rank, grid.lanes[lane].blocks[b].first};
    return {};
}

bool block_is_selected(const AppState& s) {
    if (s.view != view::ViewKind::timeline || s.forms.in(view::Form::lanes)) return false;
    const auto grid = movable_grid(s);
    return grid != nullptr && find_block(*grid, s.selection).has_value();
}

Nudged nudge(const AppState& s, int direction) {
    const auto grid = movable_grid(s);
    const auto block = grid ? find_block(*grid, s.selection) : std::nullopt;
    if (!block) return {};
    const auto [lane, from] = *block;
    Nudged found;
    const auto most = static_cast<int64_t>(grid->lanes[lane].blocks.size());
    for (int64_t to = static_cast<int64_t>(from) + direction; to >= 0 && to < most; to += direction) {
        const BlockMove move{lane, from, static_cast<std::size_t>(to)};
        MoveTried tried = try_move(s, *grid, move);
        if (tried.asks) return {std::move(tried.asks), {}};
        if (tried.refusal.refused() && !found.refused) found.refused = move;
    }
    return found;
}

void add_moved(AppState& s, const RunRequest& request, std::shared_ptr<const Document> answer) {
    if (request.asked_of != s.document) return add_run(s, {request, std::move(answer)});  // gone elsewhere
    if (!is_in_history(s)) s.moved = MovedRuns{{s.document}, 0};
    auto& made = s.moved->made;
    made.resize(s.moved->now + 1);
    if (made.size() > kMostMoves) made.erase(made.begin() + 1);
    made.push_back(std::move(answer));
    show_made(s, made.size() - 1);
}

bool has_own_order(const AppState& s) {
    return s.document && s.document->order && s.document->order->own();
}

bool can_undo_move(const AppState& s) {
    return !s.running && is_in_history(s) && s.moved->now > 0;
}

bool can_redo_move(const AppState& s) {
    return !s.running && is_in_history(s) && s.moved->now + 1 < s.moved->made.size();
}

void undo_move(AppState& s) {
    if (can_undo_move(s)) show_made(s, s.moved->now - 1);
}

void redo_move(AppState& s) {
    if (can_redo_move(s)) show_made(s, s.moved->now + 1);
}

std::optional<AskWhatIf> usual_order(AppState& s) {
    if (!has_own_order(s) || s.running) return {};
    const sandbox::PipelineOrder& order = *s.document->order;
    if (is_in_history(s) && s.moved->now > 0 && !s.moved->made.front()->order->own()) {
        show_made(s, 0);
        return {};
    }
    return AskWhatIf{kMovedBlock, order.changes_to(order.usual())};
}

}  // namespace meshscope::session
