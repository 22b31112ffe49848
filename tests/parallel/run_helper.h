#pragma once

#include <string>
#include <vector>

#include "core/run/run.h"

namespace meshscope::test {

/// Runs a scenario given as text on the threads backend.
run::RunResult run_text(const std::string& toml);

/// One rank's collectives of one step in the order issued, as "AG 55->110", "RS 66->33", "AR 33", "broadcast
/// 5".
std::vector<std::string> collectives_of(const trace::Trace& trace, int32_t rank, int32_t step);

/// How many entries begin with `word`.
int64_t count_of(const std::vector<std::string>& rows, const std::string& word);

}  // namespace meshscope::test
