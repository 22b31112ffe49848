#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::run {

/// What the part files of a run that ended without a word hold together.
struct Recovered {
    /// RunInfo::failure says "run.recovered" {steps}; losses are those of the steps that all ranks finished,
    /// and none where a rank is missing: they are means over all. RunInfo::steps then counts the steps of the
    /// ranks that are there. A rank that came further than others has calls that they never joined.
    trace::Trace trace;
    std::vector<int32_t>
        missing;  ///< ranks of the mesh that left no part of this run, or nothing whole in it
    std::vector<int32_t> cut;      ///< ranks whose last chunk was not whole; it is left out
};

/// Puts together what the ranks of a run that was to write `trace_path` left (RunOptions::parts). The newest
/// run counts, where parts of several lie there.
///
/// Throws InputError "run.no_parts" {path} when there are none, "part.foreign" when one is not of this build,
/// and what merge() throws. Cost: that of reading and merging the records.
Recovered recover(const std::string& trace_path);

/// What ranks left beside a trace that was not written.
struct Left {
    int32_t parts = 0;  ///< ranks whose part of the newest run can be read
    int32_t ranks = 0;  ///< of the run's mesh
    int32_t steps = 0;  ///< that all those parts hold whole; plain calls are one
    bool empty = true;  ///< none of them holds a whole step
};

/// What recover() would find. Of parts that cannot be read none count; nothing is thrown for them. Cost: that
/// of reading them.
Left left_beside(const std::string& trace_path);

/// The record of a run that failed, where ranks are processes, each of which has left a partial trace
/// (merge.h) with its own rank's record alone: parts[r] is rank r's. A rank that left none (it was killed)
/// has an empty record, and then losses and norms, means over all ranks, are left out. The failure is that of
/// the lowest rank which tells of `failure_id` and has its diagnosis; else which tells of it; of the lowest
/// rank where none does. Throws InvalidArgument
/// ("trace.invalid") where the parts are not of one run. Cost: one copy of the records.
trace::Trace join_parts(std::map<int32_t, trace::Trace> parts, const std::string& failure_id);

}  // namespace meshscope::run
