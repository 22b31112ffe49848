#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/jobs/read_job.h"
#include "core/jobs/write.h"
#include "tests/scenario/mistakes.h"
#include "tests/tree.h"

namespace meshscope::test {

inline const std::string kFiles = golden_folder() + "/imports/job_config/";
inline const std::string kLlama = golden_folder() + "/model_config/Llama-3.2-1B.json";

/// Ranks of a mesh dim; 1 where the mesh has none of that name.
inline int64_t dim(const jobs::Job& job, const std::string& name) {
    for (std::size_t i = 0; i < job.mesh_names.size(); ++i)
        if (job.mesh_names[i] == name) return job.mesh_shape[i];
    return 1;
}

/// The scenario of a job, with the ids of the messages that it comments with.
inline jobs::Made made(jobs::Job& job) {
    return jobs::write_scenario(job, "", [](const Message& message) { return message.id; });
}

/// The ids of the mistakes that `read` finds.
inline std::vector<std::string> ids(const std::function<void()>& read) {
    std::vector<std::string> found;
    for (const std::string& each : mistakes_of(read)) found.push_back(each.substr(each.find(' ') + 1));
    return found;
}

/// A command line without a mistake, to be continued.
inline const std::string kMegatron =
    "x.py --num-layers 8 --hidden-size 64 --num-attention-heads 8 --micro-batch-size 2 "
    "--seq-length 32 --vocab-size 256 ";

}  // namespace meshscope::test
