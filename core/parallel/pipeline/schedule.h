#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/parallel/pipeline/action.h"

namespace meshscope::parallel::pipeline {

/// PyTorch 2.15's pipeline schedules.
enum class ScheduleKind : uint8_t {
    gpipe,
    one_f_one_b,
    interleaved_1f1b,
    looped_bfs,
    interleaved_zero_bubble,
    zbv_zero_bubble,
    dual_pipe_v
};
inline constexpr int kScheduleKinds = 7;

/// PyTorch's names without "Schedule", in the order of the enumeration.
inline constexpr std::array<std::string_view, kScheduleKinds> kScheduleNames{
    "GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"};
std::string_view name(ScheduleKind kind);
/// By name, upper and lower case alike; nothing when unknown.
std::optional<ScheduleKind> parse_schedule_kind(std::string_view text);

/// Which schedule, and how large.
struct ScheduleShape {
    ScheduleKind kind = ScheduleKind::gpipe;
    int32_t ranks = 1;
    int32_t stages_per_rank = 1;
    int32_t microbatches = 1;

    int32_t stages() const { return ranks * stages_per_rank; }
};

/// What [parallel] says of a pipeline.
struct PipelineOptions {
    std::optional<ScheduleKind> schedule;
    std::optional<int32_t> microbatches, stages_per_rank;
    std::vector<int64_t> stage_layers;   ///< how many layers each stage has; empty: as even as can be
    std::optional<ScheduleShape> shape;  ///< with the ranks of the mesh dim pp; checked
    /// [rank]: what the schedule has each do, in an order of one's own; empty: in the schedule's. Checked.
    std::vector<std::vector<Slot>> order;
};

/// 1 for GPipe and 1F1B, 2 for the others (two is all that ZBVZeroBubble and DualPipeV can do).
int32_t default_stages_per_rank(ScheduleKind kind);

/// Stage s lives on rank s mod ranks (a loop), or, for ZBVZeroBubble and DualPipeV, there and back (a V):
/// with 4 ranks stages 0 1 2 3 | 4 5 6 7 on ranks 0 1 2 3 | 3 2 1 0. By stage.
std::vector<int32_t> rank_of_stage(const ScheduleShape& shape);

/// What every rank does in every time slot. Ranks' lists may differ in length: the rest is idle.
struct Schedule {
    ScheduleShape shape;
    std::vector<std::vector<Slot>> order;  ///< [rank][slot]
    std::vector<int32_t> rank_of_stage;    ///< [stage]
};

/// Nothing when the schedule can be made, else the reason with the nearest possible values
/// ("pipeline.stages_per_rank", "pipeline.microbatches_least", "pipeline.microbatches_rounds" …). PyTorch
/// refuses the same (its ScheduleX.__init__), and leaves the nearest values to the reader.
std::optional<Message> why_impossible(const ScheduleShape& shape);

/// The schedule, compute actions only, action for action and slot for slot as PyTorch's pipeline_order.
/// Throws InvalidArgument with why_impossible()'s message. Cost: O(actions).
///
/// GPipe and 1F1B: PyTorch's exported order has no idle slots (_add_reduce_grad drops them) and for 1F1B it
/// is wrong on the last rank, which gets F1 … FM and no F0 (schedules.py 1618-1684); the order here is the
/// one that its step() really runs, with idle slots where a slot long action would wait.
Schedule make_schedule(const ScheduleShape& shape);

}  // namespace meshscope::parallel::pipeline
