#pragma once

#include <cstdint>
#include <string>

#include "core/parallel/pipeline/read_schedule.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// What a forward of one stage lasts in the record of a simulated schedule; I and W likewise, B twice that.
inline constexpr int64_t kSimulatedUnitNs = 1'000'000;

/// The larger of a schedule's files that are read: about 4 million actions.
inline constexpr int64_t kMostScheduleBytes = int64_t{1} << 26;

/// A pipeline's schedule, played by its dependencies alone (parallel::pipeline::simulate), pairs apart, as a
/// record that views and exports read like a run's: trace::is_simulated() holds. An event a compute
/// ("block.forward", "block.backward", "block.input_grad", "block.weight_grad" of "layers.N", a layer a
/// stage), a send and a receive wherever a micro-batch changes ranks; both take no time and carry nothing,
/// the receive lasts from when its rank has nothing else to do. No memory, no loss: nothing ran. `name` is
/// what the run is called in its title.
trace::Trace simulated_trace(const parallel::pipeline::Schedule& schedule, const std::string& name);

/// The schedule in a CSV file. Throws IoError, InputError (read_schedule()'s).
parallel::pipeline::ReadSchedule read_schedule_file(const std::string& path);

/// The schedule in a CSV file, simulated and called by PyTorch's name where it is one of its. Throws as
/// read_schedule_file().
trace::Trace simulate_schedule_file(const std::string& path);

/// Whether a file is a pipeline's schedule: a text that begins as one, or a file called .csv that is no view
/// of a trace. False where it cannot be read. Cost: 4 KiB of it are read.
bool is_schedule_file(const std::string& path);

}  // namespace meshscope::run
