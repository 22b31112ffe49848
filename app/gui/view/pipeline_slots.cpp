#include "app/gui/view/pipeline_slots.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/trace/simulated.h"

namespace meshscope::view {
namespace {

/// When a stage is done with a micro-batch, in slots.
using Done = std::map<std::tuple<bool, int32_t, int32_t>, double>;  // (backward, stage, micro-batch)

/// When what a block needs is there; nothing: it is not known yet.
std::optional<double> ready(const PipelineBlock& block, int32_t stages, const Done& done) {
    const auto at = [&](bool backward, int32_t stage) -> std::optional<double> {
        const auto found = done.find({backward, stage, block.microbatch});
        return found == done.end() ? std::nullopt : std::optional(found->second);
    };
    switch (block.kind) {
        case BlockKind::forward:
            return block.stage == 0 ? 0 : at(false, block.stage - 1);
        case BlockKind::weight_grad:
            return at(true, block.stage);
        default:
            return block.stage + 1 == stages ? at(false, block.stage) : at(true, block.stage + 1);
    }
}

/// Plays the blocks by what they need. A run that broke off may lack some: what needs them begins at once.
void play(PipelineGrid& grid) {
    const double part = 1.0 / std::max(1.0, double(grid.stages) / double(grid.lanes.size()));
    Done done;
    std::vector<std::size_t> next(grid.lanes.size(), 0);
    std::vector<double> free(grid.lanes.size(), 0);
    for (bool went_on = true, forced = false; went_on || !forced;) {
        forced = !went_on;
        went_on = false;
        for (std::size_t l = 0; l < grid.lanes.size(); ++l) {
            PipelineLane& lane = grid.lanes[l];
            for (; next[l] < lane.blocks.size(); ++next[l]) {
                PipelineBlock& block = lane.blocks[next[l]];
                auto begin = ready(block, grid.stages, done);
                if (!begin && !forced) break;
                if (!begin) forced = false;
                block.begin = std::max(free[l], begin.value_or(0));
                block.end = block.begin + (block.kind == BlockKind::backward ? 2 * part : part);
                free[l] = block.end;
                if (block.kind != BlockKind::weight_grad)
                    done[{block.kind != BlockKind::forward, block.stage, block.microbatch}] = block.end;
                lane.work += block.end - block.begin;
                grid.slots = std::max(grid.slots, block.end);
                went_on = true;
            }
        }
    }
}

/// A simulated record was played already: its clock counts stages' forwards.
void take_slots(PipelineGrid& grid) {
    const double part = double(grid.lanes.size()) / std::max(1.0, double(grid.stages));
    int64_t unit_ns = 0;
    for (const PipelineLane& lane : grid.lanes)
        for (const PipelineBlock& block : lane.blocks)
            if (block.kind == BlockKind::forward) unit_ns = block.at.end_ns - block.at.begin_ns;
    if (unit_ns <= 0) return;
    const auto slots = [&](int64_t t_ns) {
        return part * static_cast<double>(t_ns) / static_cast<double>(unit_ns);
    };
    for (PipelineLane& lane : grid.lanes)
        for (PipelineBlock& block : lane.blocks) {
            block.begin = slots(block.at.begin_ns);
            block.end = slots(block.at.end_ns);
            lane.work += block.end - block.begin;
            grid.slots = std::max(grid.slots, block.end);
        }
}

}  // namespace

void fill_slots(const trace::Trace& trace, PipelineGrid& grid) {
    if (trace::is_simulated(trace.info))
        take_slots(grid);
    else
        play(grid);
}

double PipelineGrid::bubble() const {
    double work = 0;
    for (const PipelineLane& lane : lanes) work += lane.work;
    return slots > 0 ? 1 - work / (slots * static_cast<double>(lanes.size())) : 0;
}

double slot_at(const PipelineLane& lane, int64_t t_ns) {
    double slot = 0;
    int64_t since = lane.blocks.empty() ? 0 : lane.blocks.front().at.begin_ns;
    const auto between = [&](double from, double to, int64_t begin, int64_t end) {
        return end <= begin ? to
                            : from + (to - from) * static_cast<double>(t_ns - begin) /
                                         static_cast<double>(end - begin);
    };
    for (const PipelineBlock& block : lane.blocks) {
        if (t_ns < block.at.begin_ns) return between(slot, block.begin, since, block.at.begin_ns);
        if (t_ns < block.at.end_ns)
            return between(block.begin, block.end, block.at.begin_ns, block.at.end_ns);
        slot = block.end;
        since = block.at.end_ns;
    }
    return slot;
}

}  // namespace meshscope::view
