#pragma once

#include <string_view>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// The backend of a record that nothing ran for: its events and times come from a simulation.
inline constexpr std::string_view kSimulated = "simulated";
inline bool is_simulated(const RunInfo& info) {
    return info.backend == kSimulated;
}

}  // namespace meshscope::trace
