#pragma once

#include <vector>

#include "core/parallel/pipeline/schedule.h"

/// One function a schedule: what rank `rank` does, slot for slot. The shape was checked.
namespace meshscope::parallel::pipeline::schedules {

std::vector<Slot> gpipe(const ScheduleShape& shape, int32_t rank);
std::vector<Slot> one_f_one_b(const ScheduleShape& shape, int32_t rank);
std::vector<Slot> interleaved_1f1b(const ScheduleShape& shape, int32_t rank);
std::vector<Slot> looped_bfs(const ScheduleShape& shape, int32_t rank);
std::vector<Slot> interleaved_zero_bubble(const ScheduleShape& shape, int32_t rank);
std::vector<Slot> zbv_zero_bubble(const ScheduleShape& shape, int32_t rank);
std::vector<Slot> dual_pipe_v(const ScheduleShape& shape, int32_t rank);

/// The whole order of InterleavedZeroBubble: PyTorch adds idle slots where a forward would come before its
/// input (_add_bubbles_to_actions).
void add_forward_bubbles(std::vector<std::vector<Slot>>& order);

}  // namespace meshscope::parallel::pipeline::schedules
