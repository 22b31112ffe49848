#include "app/gui/view/pipeline_blocks.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/gui/view/pipeline_slots.h"
#include "app/gui/view/pipeline_stages.h"

namespace meshscope::view {
namespace {

bool is_transfer(const trace::Trace& trace, const trace::Event& event) {
    return event.kind == trace::EventKind::collective && is_point_to_point(event.op) &&
           trace.text(event.rule).starts_with("pp.");
}

/// The group along which stages send; -1: this rank is in none.
int32_t pipeline_group(const trace::Trace& trace, int32_t rank) {
    for (const trace::Event& event : trace.ranks[static_cast<std::size_t>(rank)].events)
        if (is_transfer(trace, event)) return event.group;
    return -1;
}

/// Kernels of a backward that are neither (copies, sums, what a strategy does with gradients) tell nothing of
/// the kind of a block.
bool is_weight_grad(std::string_view kernel) {
    return kernel.ends_with(".weight_grad") || kernel == "bias.backward" || kernel == "embedding.backward";
}
bool is_input_grad(std::string_view kernel) {
    return kernel.ends_with(".input_grad") || (kernel.ends_with(".backward") && !is_weight_grad(kernel));
}

/// What a data strategy does with parameters and gradients between the layers' kernels, maybe those of
/// another stage: no part of a block.
bool is_of_strategy(std::string_view kernel) {
    for (const std::string_view prefix : {"ddp.", "fsdp2.", "flat.", "copies.", "powersgd."})
        if (kernel.starts_with(prefix)) return true;
    return false;
}

/// Kernels one after the other, of one phase, micro-batch and stage.
struct Group {
    Phase phase = Phase::forward;
    int32_t microbatch = 0, stage = -1, waited = -1;
    std::vector<const trace::Event*> kernels;
};

/// What has no layer (the embedding, the head, the loss, a sum between layers) goes with the layer before it,
/// at the beginning with the one after it.
std::vector<int32_t> stages_of(const std::vector<const trace::Event*>& kernels, const Stages& stages,
                               std::size_t lane) {
    if (const int32_t stage = stages.of_lane(lane); stage >= 0)
        return std::vector<int32_t>(kernels.size(), stage);
    std::vector<int32_t> found;
    int32_t last = -1;
    for (const trace::Event* kernel : kernels) {
        if (const int32_t stage = stages.of(*kernel); stage >= 0) last = stage;
        found.push_back(last);
    }
    const auto first = std::ranges::find_if(found, [](int32_t stage) { return stage >= 0; });
    if (first != found.end()) std::fill(found.begin(), first, *first);
    return found;
}

/// Cuts the kernels of one phase and micro-batch where the stage changes.
void cut(Group group, const Stages& stages, std::size_t lane, std::vector<Group>& out) {
    const std::vector<int32_t> stage_of = stages_of(group.kernels, stages, lane);
    for (std::size_t i = 0; i < group.kernels.size(); ++i) {
        if (i == 0 || stage_of[i] != stage_of[i - 1])
            out.push_back({group.phase, group.microbatch, stage_of[i], i == 0 ? group.waited : -1, {}});
        out.back().kernels.push_back(group.kernels[i]);
    }
}

/// Those of lane number `at`.
std::vector<Group> groups_of(const trace::Trace& trace, std::size_t at, int32_t step, const Stages& stages,
                             PipelineLane& lane, Memo* memo) {
    const int32_t rank = lane.rank;
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    std::vector<Group> groups;
    Group open;
    int32_t received = -1;
    for (const StepRun& run : step_runs(trace, rank, step, memo)) {
        for (std::size_t i = run.first; i < run.last; ++i) {
            const trace::Event& event = events[i];
            if (is_transfer(trace, event)) {
                if (event.op == CollectiveOp::send) ++lane.sends;
                if (event.op == CollectiveOp::recv) received = event.id;
                if (const int32_t stage = number_behind("stage ", trace.text(event.unit)); stage >= 0)
                    lane.stages.push_back(stage);
            }
            if (event.kind != trace::EventKind::compute || event.stream != Stream::compute) continue;
            if (event.phase != Phase::forward && event.phase != Phase::backward) continue;
            if (is_of_strategy(trace.text(event.name))) continue;
            if (event.microbatch < 0 || event.microbatch > kMostNumber) continue;
            if (!open.kernels.empty() && (open.phase != event.phase || open.microbatch != event.microbatch))
                cut(std::exchange(open, {}), stages, at, groups);
            if (open.kernels.empty())
                open = {event.phase, event.microbatch, -1, std::exchange(received, -1), {}};
            open.kernels.push_back(&event);
        }
    }
    if (!open.kernels.empty()) cut(std::move(open), stages, at, groups);
    return groups;
}

/// Where the two halves of a backward part: before this kernel only input gradients are computed, from it on
/// only weight gradients. Nothing: they alternate, so it was run whole.
std::optional<std::size_t> halves(const trace::Trace& trace, const Group& group) {
    std::size_t first_weight = group.kernels.size();
    for (std::size_t i = 0; i < group.kernels.size(); ++i) {
        const std::string_view kernel = trace.text(group.kernels[i]->name);
        if (kernel == "block.backward") return std::nullopt;  // a simulated one, both halves in one
        if (is_weight_grad(kernel))
            first_weight = std::min(first_weight, i);
        else if (is_input_grad(kernel) && first_weight < i)
            return std::nullopt;
    }
    return first_weight;
}

/// Whether the schedule runs backwards in halves. Stage 0 does not tell: its first layer needs no input
/// gradient, so that a whole backward may look like one in halves.
bool in_halves(const trace::Trace& trace, const std::vector<std::vector<Group>>& lanes) {
    for (const std::vector<Group>& groups : lanes)
        for (const Group& group : groups)
            if (group.phase == Phase::backward && group.stage > 0 && halves(trace, group)) return true;
    return false;
}

void add_blocks(const trace::Trace& trace, const Group& group, bool splits,
                std::vector<PipelineBlock>& blocks) {
    const auto block = [&](BlockKind kind, std::size_t first, std::size_t last, int32_t waited) {
        blocks.push_back({kind,
                          group.stage,
                          group.microbatch,
                          group.kernels[first]->id,
                          group.kernels[last - 1]->id,
                          {},
                          0,
                          0,
                          waited});
    };
    const std::size_t n = group.kernels.size();
    if (group.phase == Phase::forward) return block(BlockKind::forward, 0, n, group.waited);
    const auto part = splits ? halves(trace, group) : std::nullopt;
    if (!part) return block(BlockKind::backward, 0, n, group.waited);
    const bool has_input =
        std::any_of(group.kernels.begin(), group.kernels.begin() + static_cast<std::ptrdiff_t>(*part),
                    [&](const trace::Event* kernel) { return is_input_grad(trace.text(kernel->name)); });
    if (has_input) block(BlockKind::input_grad, 0, *part, group.waited);
    if (*part < n) block(BlockKind::weight_grad, has_input ? *part : 0, n, has_input ? -1 : group.waited);
}

/// The lane's blocks on the clock, of the groups that it ran.
void fill_lane(const trace::Trace& trace, const time::Clock& clock, const std::vector<Group>& groups,
               bool splits, PipelineLane& lane) {
    for (const Group& group : groups) add_blocks(trace, group, splits, lane.blocks);
    const auto& times = clock.events[static_cast<std::size_t>(lane.rank)];
    for (PipelineBlock& block : lane.blocks) {
        block.at = {times[static_cast<std::size_t>(block.first)].begin_ns,
                    times[static_cast<std::size_t>(block.last)].end_ns};
        if (block.stage >= 0) lane.stages.push_back(block.stage);
    }
    std::ranges::sort(lane.stages);
    lane.stages.erase(std::unique(lane.stages.begin(), lane.stages.end()), lane.stages.end());
}

/// A run that broke off lacks blocks: every stage has a forward and a backward of each micro-batch.
bool is_complete(const PipelineGrid& grid) {
    int64_t forwards = 0, backwards = 0;
    for (const PipelineLane& lane : grid.lanes)
        for (const PipelineBlock& block : lane.blocks) {
            forwards += block.kind == BlockKind::forward ? 1 : 0;
            backwards += block.kind == BlockKind::backward || block.kind == BlockKind::weight_grad ? 1 : 0;
        }
    const int64_t all = int64_t{grid.stages} * grid.microbatches;
    return forwards == all && backwards == all;
}

PipelineGrid find_grid(const trace::Trace& trace, const time::Clock& clock, int32_t group, int32_t step,
                       Memo* memo) {
    const auto& ranks = trace.groups[static_cast<std::size_t>(group)].ranks;
    const Stages stages(trace, ranks);
    PipelineGrid grid;
    grid.stages = stages.count();
    std::vector<std::vector<Group>> groups;
    for (const int32_t rank : ranks) {
        PipelineLane& lane = grid.lanes.emplace_back();
        lane.rank = rank;
        groups.push_back(groups_of(trace, grid.lanes.size() - 1, step, stages, lane, memo));
    }
    const bool splits = in_halves(trace, groups);
    bool any = false;
    for (std::size_t l = 0; l < grid.lanes.size(); ++l) {
        PipelineLane& lane = grid.lanes[l];
        fill_lane(trace, clock, groups[l], splits, lane);
        // A rank that did not come so far in the step: where each has one stage, it is known which.
        if (lane.stages.empty() && stages.of_lane(l) >= 0) lane.stages.push_back(stages.of_lane(l));
        for (PipelineBlock& block : lane.blocks) {
            // A model without numbered layers: a stage a rank.
            if (block.stage < 0) block.stage = lane.stages.empty() ? 0 : lane.stages.front();
            grid.microbatches = std::max(grid.microbatches, block.microbatch + 1);
            grid.span.begin_ns = any ? std::min(grid.span.begin_ns, block.at.begin_ns) : block.at.begin_ns;
            grid.span.end_ns = any ? std::max(grid.span.end_ns, block.at.end_ns) : block.at.end_ns;
            any = true;
        }
    }
    grid.complete = is_complete(grid);
    fill_slots(trace, grid);
    return grid;
}

int32_t grid_group(const trace::Trace& trace, int32_t rank) {
    const int32_t own = pipeline_group(trace, rank);
    for (int32_t r = 0; own < 0 && r < static_cast<int32_t>(trace.ranks.size()); ++r)
        if (const int32_t group = pipeline_group(trace, r); group >= 0) return group;
    return own;
}

}  // namespace

bool has_pipeline(const trace::Trace& trace, Memo* memo) {
    return *found_once<bool>(memo, 8, trace, nullptr, int8_t{0},
                             [&] { return !trace.ranks.empty() && grid_group(trace, 0) >= 0; });
}

std::shared_ptr<const PipelineGrid> pipeline_grid(const trace::Trace& trace, const time::Clock& clock,
                                                  int32_t rank, int32_t step, Memo* memo) {
    if (trace.ranks.empty()) return nullptr;
    const int32_t group = grid_group(trace, rank);
    if (group < 0) return nullptr;
    auto grid = found_once<PipelineGrid>(memo, 8, trace, &clock, std::pair(group, step),
                                         [&] { return find_grid(trace, clock, group, step, memo); });
    return grid->slots > 0 ? grid : nullptr;
}

namespace {

/// Calls `see` with each moment at which activations come (+1) or go (-1), in the lane's order.
template <class See>
void each_change(const PipelineLane& lane, const See& see) {
    const auto splits = std::ranges::any_of(
        lane.blocks, [](const PipelineBlock& block) { return block.kind == BlockKind::weight_grad; });
    for (const PipelineBlock& block : lane.blocks) {
        if (block.kind == BlockKind::forward)
            see(block, true, block.at.begin_ns);
        else if (block.kind != BlockKind::input_grad || !splits)
            see(block, false, block.at.end_ns);
    }
}

}  // namespace

std::vector<int32_t> held_at(const PipelineLane& lane, int64_t t_ns) {
    std::vector<std::pair<int32_t, int32_t>> held;  // (stage, micro-batch)
    each_change(lane, [&](const PipelineBlock& block, bool comes, int64_t at) {
        if (at > t_ns) return;
        if (comes)
            held.emplace_back(block.stage, block.microbatch);
        else
            std::erase(held, std::pair(block.stage, block.microbatch));
    });
    std::vector<int32_t> microbatches;
    for (const auto& [stage, microbatch] : held) microbatches.push_back(microbatch);
    return microbatches;
}

int32_t most_held(const PipelineLane& lane) {
    int32_t now = 0, most = 0;
    each_change(lane, [&](const PipelineBlock&, bool comes, int64_t) {
        now += comes ? 1 : -1;
        most = std::max(most, now);
    });
    return most;
}

}  // namespace meshscope::view
