#pragma once

#include <string_view>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// The backend of a record that nothing ran for: its events and times come from a simulation.
inline constexpr std::string_view kSimulated = "simulated";
inline bool is_simulated(const RunInfo& info) {
    return info.backend == kSimulated;
}

/// The backend of a record that the engine's own code made without data (run::run_dry).
inline constexpr std::string_view kDry = "dry";
inline bool is_dry(const RunInfo& info) {
    return info.backend == kDry;
}

/// Whether the record's times are of something that took time.
inline bool is_measured(const RunInfo& info) {
    return !is_simulated(info) && !is_dry(info);
}

}  // namespace meshscope::trace
