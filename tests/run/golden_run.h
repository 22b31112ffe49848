#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/run/run.h"
#include "tests/run/golden_case.h"

namespace golden {

/// Trains a golden case here; `extra` is added to its scenario's text.
meshscope::run::RunResult train(const std::string& name, const nlohmann::json& gold,
                                const meshscope::run::Backends& backends,
                                const meshscope::run::RunOptions& options = {},
                                const std::string& extra = "");

/// A run of ours, as it is compared with PyTorch's.
Outcome outcome_of(const meshscope::run::RunResult& result);

}  // namespace golden
