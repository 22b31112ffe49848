#pragma once

#include <string>

#include "tests/parallel/run_helper.h"

namespace meshscope::test {

/// A scenario of the model `mlp` with three layers, six wide, ten inside, ten steps of 24 samples.
/// `train` adds to [train], `rest` holds [mesh] and [parallel].
std::string mlp_scenario(const std::string& rest, const std::string& optimizer,
                         const std::string& train = "");
/// The same of `toy`, three steps.
std::string toy_scenario(const std::string& rest, const std::string& optimizer,
                         const std::string& train = "");
/// The optimizer of tests that compare with numbers worked out: plain, but for its momentum.
inline const std::string kMomentumSgd = "kind = \"sgd\"\nlr = 0.05\nmomentum = 0.9";
/// [mesh] of one rank, no strategy.
std::string one_rank();

/// Checks losses, gradient norms and parameters within the golden tolerances.
void check_equal(const run::RunResult& a, const run::RunResult& b);

}  // namespace meshscope::test
