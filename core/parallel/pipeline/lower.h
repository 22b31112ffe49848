#pragma once

#include <vector>

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// An order of actions without idle slots: what a rank works through.
using Actions = std::vector<Action>;

/// What lowering adds to a compute order. PyTorch's _PipelineScheduleRuntime always adds all three; UNSHARD,
/// RESHARD mean nothing where a stage is not FSDP's.
struct Lowering {
    bool unshard = true;
    bool reduce_grad = true;
    bool in_time = false;           ///< sends and receives by add_send_recv_in_time
    int32_t max_active_stages = 3;  ///< stages held whole at once: one forward, one backward, one prefetched
};

/// Adds UNSHARD before a stage's first action and RESHARD when it is none of the next `max_active_stages`
/// stages that compute. Cost: actions times the rank's stages. Source: schedules.py, _add_unshard_reshard.
Actions add_unshard_reshard(const std::vector<Slot>& compute, int32_t max_active_stages = 3);

/// Adds a stage's REDUCE_GRAD after its last backward of `microbatches`. Source: _add_reduce_grad.
Actions add_reduce_grad(const Actions& actions, int32_t microbatches);

/// Makes one B of I directly followed by its W. Source: _merge_bw (idle slots between them do not count).
Actions merge_bw(const std::vector<Slot>& compute);

/// Adds SEND_F after a forward and SEND_B after a backward whose neighbour stage lives on another rank, and
/// the RECV on that rank at that moment of a walk round the ranks: so every pair of ranks sends and receives
/// in one order, and no two wait for each other. Source: _add_send_recv. Throws InvalidArgument
/// ("pipeline.deadlock") when the compute order cannot be done.
std::vector<Actions> add_send_recv(const std::vector<Actions>& compute,
                                   const std::vector<int32_t>& rank_of_stage);

/// The same sends and receives, each placed at the moment when the sender's action ends if F, I and W take
/// the same time, and on both ranks in the order of these moments. PyTorch's walk takes every action for
/// equally long; where a rank's communication is one queue, a receive can then stand before sends that could
/// leave, and ranks wait longer than the schedule asks. `compute` is the schedule's order, with or without
/// UNSHARD, RESHARD and REDUCE_GRAD. Throws InvalidArgument ("pipeline.deadlock").
std::vector<Actions> add_send_recv_in_time(const std::vector<Actions>& compute, const Schedule& schedule);

/// All of it, for every rank, in PyTorch's order (_prepare_schedule_with_comms).
std::vector<Actions> lower(const Schedule& schedule, const Lowering& lowering = {});

}  // namespace meshscope::parallel::pipeline
