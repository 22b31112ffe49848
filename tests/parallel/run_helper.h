#pragma once

#include <optional>
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

struct Held {
    int64_t peak = 0;  ///< the most at any time
    int64_t last = 0;  ///< when the optimizer of the last step ran
};

/// What a rank held of a category.
Held held(const trace::Trace& trace, int32_t rank, MemoryCategory category);

/// Bytes a rank sent in a step, of collectives of `op` where it is given.
int64_t sent_bytes(const trace::Trace& trace, int32_t rank, int32_t step,
                   std::optional<CollectiveOp> op = std::nullopt);

}  // namespace meshscope::test
