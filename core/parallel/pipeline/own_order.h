#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/pipeline/schedule.h"
#include "core/parallel/pipeline/simulate.h"
#include "core/parallel/pipeline/validate.h"

namespace meshscope::parallel::pipeline {

/// [rank][slot], as Schedule::order.
using Order = std::vector<std::vector<Slot>>;

/// A rank's row of [parallel] schedule_order: "0F0, 0F1, 0B0, 0B1"; idle slots are left out. Throws
/// InvalidArgument with the first field that is no action ("pipeline.bad_action"), or one that follows from
/// the others, as sends do ("pipeline.order_compute").
std::vector<Slot> parse_row(std::string_view text);
/// The same as text.
std::string row_text(const std::vector<Slot>& row);

/// Everything for which ranks cannot work through these rows in place of the schedule's own; none: they can.
/// "pipeline.order_rows"; faults_of()'s, but of a deadlock only those of circle_of(), in its order; then
/// "pipeline.order_kind" where a backward is whole and the schedule halves it, or the other way round. The
/// shape must be possible. Cost: O(actions · log actions).
std::vector<Fault> faults_of_order(const ScheduleShape& shape, const Order& order);

/// The ranks that wait for each other in this order, each for the next and the last for the first; the others
/// that are stuck wait for one of these. Empty where the order can be done.
std::vector<Stuck> circle_of(const ScheduleShape& shape, const Order& order);

/// The schedule that [parallel] asks for; `options.shape` must be there.
Schedule schedule_of(const PipelineOptions& options);

/// Of how many micro-batches a rank keeps activations at most, where each rank has one stage: the largest
/// number of forwards without their backward on any rank. Cost: O(actions).
int32_t most_in_flight(const Order& order);

}  // namespace meshscope::parallel::pipeline
