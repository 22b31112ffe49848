#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/jobs/job.h"

namespace meshscope::jobs {

/// A scenario made of a job.
struct Made {
    std::string text;  ///< TOML; each value with a comment that says where it comes from
    /// What reading the scenario refuses, keys "not in this version" among it; empty: it can be predicted.
    std::vector<Diagnostic> refused;
};

/// The scenario of a settled job in which nothing is missing. `path` is where it will lie, from which the
/// model's file is named; "" the current folder. `say` puts messages into words, for the comments. Where a
/// scenario has no word for something, that goes into the job's `unsaid`.
Made write_scenario(Job& job, const std::string& path, const std::function<std::string(const Message&)>& say);

}  // namespace meshscope::jobs
