#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/trace/trace.h"

namespace meshscope::trace {

/// The id that RunInfo::failure has in a record that was put together from part files.
inline constexpr std::string_view kRecovered = "run.recovered";

/// The first step whose loss, or whose gradients' norm, is no number.
std::optional<int32_t> first_not_finite_step(const RunInfo& info);

/// Why this record's run ended before its end, or went on with numbers that mean nothing; nothing for a run
/// that came to its end. The engine's own sentence where it failed, else the first step that is NaN or
/// infinite, else that it was stopped. Of a record from part files it says how many of the planned steps are
/// whole. `planned_steps`: what its scenario asks for, < 0 where that is not known.
std::optional<Message> early_end(const RunInfo& info, int32_t planned_steps = -1);

/// Of each rank the calls that had not ended when the run broke off, ascending; none in a run that did not
/// fail. They appear to last until their rank's last record (RunInfo::failure), and lack what only a finished
/// call has: sent bytes, an output, all its hops, a later event that depends on it.
/// Cost: a pass over the events, dependencies, hops and snapshots.
std::vector<std::vector<int32_t>> unended_calls(const Trace& trace);
/// Of one rank alone.
std::vector<int32_t> unended_calls(const Trace& trace, int32_t rank);

}  // namespace meshscope::trace
