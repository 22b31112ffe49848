#include "app/gui/session/moved_block.h"

#include <algorithm>
#include <utility>

#include "app/gui/session/app_state.h"
#include "app/gui/session/block_actions.h"
#include "app/gui/session/sandbox_actions.h"
#include "app/gui/view/common.h"
#include "app/gui/view/timeline_bars.h"

namespace meshscope::session {

using view::PipelineBlock;
using view::PipelineGrid;

std::size_t MovableGrid::others(std::size_t lane, std::size_t block) const {
    const auto& of_block = actions[lane];
    return static_cast<std::size_t>(
        std::ranges::count_if(of_block, [&](std::size_t action) { return action != of_block[block]; }));
}

std::size_t MovableGrid::own_place(std::size_t lane, std::size_t block) const {
    std::size_t place = 0;
    for (std::size_t b = 0; b < block; ++b) place += are_one(lane, b, block) ? 0 : 1;
    return place;
}

int32_t step_at_cursor(const AppState& s, const Document& run, view::Memo* memo) {
    return std::max(0, view::step_at(*run.trace, clock_of(run, s.clock), s.cursor.t_ns, memo));
}

std::shared_ptr<const PipelineGrid> shown_grid(const AppState& s, const Document& run, int32_t step,
                                               view::Memo* memo) {
    return view::pipeline_grid(*run.trace, clock_of(run, s.clock), view::focus_rank(*run.trace, s.selection),
                               step, memo);
}

std::optional<std::pair<std::size_t, std::size_t>> find_block(const PipelineGrid& grid,
                                                              const view::Selection& selection) {
    if (!selection.event || !selection.event_rank) return {};
    for (std::size_t l = 0; l < grid.lanes.size(); ++l) {
        if (grid.lanes[l].rank != *selection.event_rank) continue;
        const auto& blocks = grid.lanes[l].blocks;
        const auto found = std::ranges::find_if(blocks, [&](const PipelineBlock& block) {
            return *selection.event >= block.first && *selection.event <= block.last;
        });
        if (found != blocks.end()) return std::pair(l, static_cast<std::size_t>(found - blocks.begin()));
    }
    return {};
}

bool blocks_stay(const AppState& s) {
    return !s.document || s.film || s.live || s.uncovered || (s.sandbox && s.sandbox->open) ||
           open_question(s) != nullptr;
}

std::optional<MovableGrid> movable_grid(const AppState& s, view::Memo* memo) {
    if (blocks_stay(s) || !s.document->order || !can_run_otherwise(*s.document)) return {};
    MovableGrid found{shown_grid(s, *s.document, step_at_cursor(s, *s.document, memo), memo), {}};
    const auto& rows = s.document->order->parts();
    if (found.grid == nullptr || !found.grid->complete || found.grid->lanes.size() != rows.size()) return {};
    for (std::size_t l = 0; l < rows.size(); ++l) {
        auto places = actions_of(found.grid->lanes[l], rows[l]);
        if (!places) return {};
        found.actions.push_back(std::move(*places));
    }
    return found;
}

MoveTried try_move(const AppState& s, const MovableGrid& grid, const BlockMove& move) {
    const sandbox::PipelineOrder& order = *s.document->order;
    const auto& of_block = grid.actions[move.lane];
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

std::optional<std::size_t> block_of(const AppState& s, const MovableGrid& grid, std::size_t lane,
                                    const std::string& action) {
    if (lane >= grid.actions.size()) return {};
    const auto& row = s.document->order->rows()[lane];
    const auto& of_block = grid.actions[lane];
    const auto found =
        std::ranges::find_if(of_block, [&](std::size_t place) { return row[place] == action; });
    if (found == of_block.end()) return {};
    return static_cast<std::size_t>(found - of_block.begin());
}

bool block_is_selected(const AppState& s) {
    if (s.view != view::ViewKind::timeline || s.forms.in(view::Form::lanes)) return false;
    const auto movable = movable_grid(s);
    return movable && find_block(*movable->grid, s.selection).has_value();
}

Nudged nudge(const AppState& s, int direction) {
    const auto movable = movable_grid(s);
    const auto block = movable ? find_block(*movable->grid, s.selection) : std::nullopt;
    if (!block) return {};
    const auto [lane, from] = *block;
    Nudged found;
    const auto most = static_cast<int64_t>(movable->others(lane, from));
    for (int64_t to = static_cast<int64_t>(movable->own_place(lane, from)) + direction; to >= 0 && to <= most;
         to += direction) {
        const BlockMove move{lane, from, static_cast<std::size_t>(to)};
        MoveTried tried = try_move(s, *movable, move);
        if (tried.asks) return {std::move(tried.asks), {}};
        if (tried.refusal.refused() && !found.refused) found.refused = move;
    }
    return found;
}

}  // namespace meshscope::session
