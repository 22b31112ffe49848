#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::run {

/// The record of a run that failed, as far as it came: records[r] is rank r's, losses[r] its own by step;
/// those of the steps that every rank with a loss finished are kept. `failure` is what RunInfo::failure
/// holds. Throws what trace::merge throws. Cost: one copy of the records.
trace::Trace partial_trace(trace::RunInfo info, std::vector<trace::Group> groups,
                           std::vector<trace::RankRecord> records, std::vector<std::vector<double>> losses,
                           std::string failure);

/// The same where ranks are processes, each of which has left a partial trace with its own rank's record
/// alone: parts[r] is rank r's. A rank that left none (it was killed) has an empty record. The failure is
/// that of the lowest rank which tells of `failure_id` and has its diagnosis; else which tells of it; of the
/// lowest rank where none does. Throws InvalidArgument ("trace.invalid") where the parts are not of one run.
/// Cost: one copy of the records.
trace::Trace join_parts(std::map<int32_t, trace::Trace> parts, const std::string& failure_id);

}  // namespace meshscope::run
