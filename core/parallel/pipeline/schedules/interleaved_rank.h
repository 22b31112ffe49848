#pragma once

#include <vector>

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline::schedules {

/// What Interleaved1F1B and InterleavedZeroBubble share: warm-up forwards, one forward and one backward in
/// turn, backwards that are left; micro-batches go through a rank's stages in rounds.
///
/// Rounds = max(1, M / P), M / rounds micro-batches each. Warm-up: (v - 1) of a round, and `hop_ops` more for
/// every rank up from the last. With zero_bubble a backward is I, and W follows it `rank` operations later.
/// Source: torch/distributed/pipelining/schedules.py, _get_1f1b_rank_ops, _get_warmup_ops.
std::vector<Slot> interleaved_rank(const ScheduleShape& shape, int32_t rank, int32_t hop_ops,
                                   bool zero_bubble);

/// Micro-batches of one round; M must be a multiple of the number of rounds.
int32_t rounds_of(const ScheduleShape& shape);

}  // namespace meshscope::parallel::pipeline::schedules
