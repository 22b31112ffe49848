#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace meshscope::scenario {

/// What to change in a plan's question; what is absent stays.
struct PlanChange {
    std::optional<int64_t> gpus = {}, global_batch = {}, seq = {};
    std::optional<std::string> gpu =
        {};  ///< one of the program's own profiles; the memory becomes that profile's
};

}  // namespace meshscope::scenario
