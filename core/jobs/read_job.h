#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/jobs/job.h"

namespace meshscope::jobs {

/// What a person adds to a job's files.
struct JobOptions {
    std::optional<int64_t> world = {}, ranks_per_node = {}, micro_batch = {}, accumulate = {},
                           global_batch = {}, seq = {}, vocab = {};
    std::string model = {};  ///< a Hugging Face config.json; "": what the files name
};

/// Reads the files of one job, in any order: one of Megatron-LM, NeMo, DeepSpeed, accelerate or torchtitan,
/// or of accelerate with DeepSpeed's beside it, and perhaps the model's config.json. The mesh is the one
/// that the program itself makes of them. What no file and no option says is in `missing`, the rest is
/// settled as far as that goes. Throws InputError with every mistake: what read_document() throws, two jobs
/// ("jobs.two"), values that contradict each other within a file, between files, or with an option
/// ("jobs.contradiction"), degrees that do not multiply to the ranks ("jobs.degrees", "jobs.world"), a batch
/// that does not divide ("jobs.batch"), heads, layers or experts that the ranks do not divide
/// ("jobs.does_not_divide"); IoError.
Job read_job(const std::vector<std::string>& files, const JobOptions& options);

}  // namespace meshscope::jobs
