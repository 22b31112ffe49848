#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace meshscope::scenario {

/// What is to be other in a plan's question; what is absent stays.
struct PlanChange {
    std::optional<int64_t> gpus = {}, global_batch = {}, seq = {};
    std::optional<std::string> gpu = {};  ///< a profile of the program's own; with its memory
};

}  // namespace meshscope::scenario
