#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/parallel/pipeline/schedule.h"

namespace meshscope::parallel::pipeline {

/// A schedule that somebody wrote.
struct ReadSchedule {
    Schedule schedule;                 ///< shape.kind means nothing where `kind` is empty
    std::optional<ScheduleKind> kind;  ///< the schedule of PyTorch's that it is, action for action
};

/// Reads a schedule from its CSV (csv.h), and checks that it can be done: ranks are its rows, stages and
/// micro-batches those that it names, and a stage lives on the rank that does most of its actions.
/// Communication may stand in it or not.
///
/// Throws InputError with every mistake, each at its line and column with what would be right:
/// "pipeline.not_a_schedule" where no field is an action, "pipeline.bad_action", "pipeline.gap_stage",
/// "pipeline.gap_microbatch", "pipeline.uneven_stages", "pipeline.dump_1f1b" (PyTorch 2.15's own dump of 1F1B
/// counts the last rank's forwards from 1), and faults_of()'s; at most kMostMistakes of them, then
/// "pipeline.more_mistakes". `file` is what messages call it. Cost: O(actions · log actions).
ReadSchedule read_schedule(std::string_view text, const std::string& file);
inline constexpr std::size_t kMostMistakes = 12;

/// Whether a text's first field that is not empty is an action.
bool begins_as_schedule(std::string_view text);

}  // namespace meshscope::parallel::pipeline
