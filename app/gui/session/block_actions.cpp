#include "app/gui/session/block_actions.h"

namespace meshscope::session {
namespace {

using sandbox::RowAction;
using view::BlockKind;
using view::PipelineBlock;

bool is_of(const PipelineBlock& block, const RowAction& action, bool one_stage) {
    if (block.microbatch != action.microbatch || (!one_stage && block.stage != action.stage)) return false;
    switch (block.kind) {
        case BlockKind::forward:
            return action.kind == 'F';
        case BlockKind::input_grad:
            return action.kind == 'I' || action.kind == 'B';
        case BlockKind::weight_grad:
            return action.kind == 'W' || action.kind == 'B';
        case BlockKind::backward:
            return action.kind == 'B';
    }
    return false;
}

}  // namespace

std::optional<std::vector<std::size_t>> actions_of(const view::PipelineLane& lane,
                                                   const std::vector<RowAction>& row) {
    const bool one_stage = lane.stages.size() == 1;
    std::vector<std::size_t> places;
    std::size_t next = 0;
    for (const PipelineBlock& block : lane.blocks) {
        const bool second_half = !places.empty() && block.kind == BlockKind::weight_grad &&
                                 is_of(block, row[places.back()], one_stage);
        if (!second_half) {
            while (next < row.size() && !is_of(block, row[next], one_stage))
                if (row[next++].kind != 'I') return std::nullopt;
            if (next == row.size()) return std::nullopt;
            ++next;
        }
        places.push_back(second_half ? places.back() : next - 1);
    }
    for (; next < row.size(); ++next)
        if (row[next].kind != 'I') return std::nullopt;
    return places;
}

}  // namespace meshscope::session
