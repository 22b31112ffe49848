#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/jobs/facts.h"
#include "core/mesh/device_mesh.h"
#include "core/nn/model/spec.h"

namespace meshscope::jobs {

/// The most samples of a step.
inline constexpr int64_t kMostSamples = int64_t{1} << 31;

/// A value of a job that its scenario does not hold.
struct Unsaid {
    std::string file, key,
        value;  ///< of a program's own default `file` is the program, and `value` may be ""
    bool fallback = false;
    Message why;  ///< "jobs.why.…": what the scenario has instead, or that it has nothing
};

/// "--fp8-format = hybrid, file.yaml: …why", or with a default: "--attention-dropout 0.1, default of …: …".
/// `why` is the reason in words.
Message to_message(const Unsaid& unsaid, const std::string& why);

/// What is to be known and no file says, with the option that says it.
struct Missing {
    std::string option;  ///< "--world"
    Message what;        ///< "jobs.missing.…"
};

/// What files and options together say of one training job, before a scenario is made of it.
struct Job {
    std::string program;  ///< whose defaults hold: "Megatron-LM"
    std::vector<std::string> files;
    Facts facts;
    std::vector<Unsaid> unsaid;
    std::vector<Missing> missing;
    std::vector<std::pair<std::string, std::string>> unread;  ///< file and key that nothing was asked of
    std::string model_config;                                 ///< a Hugging Face config.json; "": none
    std::optional<nn::ModelSpec> model;                       ///< what it holds
    /// Without sharding, mixed precision is torch.autocast's.
    bool autocasts = false;
    /// The program's own default of "accumulate" is part of a batch.
    bool counts_default_accumulation = false;
    /// Elements of a bucket where nobody says: the greater of the first and of dp times the second. 0: the
    /// strategy's own.
    int64_t min_bucket_elements = 0;
    int64_t bucket_elements_per_dp_rank = 0;
    int64_t world_multiple = 1;                               ///< the number of ranks must divide by it
    mesh::Shape mesh_shape;  ///< empty while the number of ranks is not known
    mesh::Names mesh_names;
    std::vector<Diagnostic> found;  ///< mistakes
};

}  // namespace meshscope::jobs
