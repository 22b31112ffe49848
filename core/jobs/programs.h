#pragma once

#include "core/jobs/document.h"
#include "core/jobs/job.h"

namespace meshscope::jobs {

// What each program's file says, as facts of the job, with the program's own defaults where it says nothing.
// Mistakes go into the job's `found`, what a scenario cannot hold into `unsaid`.

void read_megatron(const Document& document, Job& job);
void read_nemo(const Document& document, Job& job);
void read_deepspeed(const Document& document, Job& job);
/// `deepspeed_file` becomes the DeepSpeed configuration that it names, if any, as it is written there.
void read_accelerate(const Document& document, Job& job, std::string& deepspeed_file);
void read_torchtitan(const Document& document, Job& job);

/// What `job.program` takes where nobody gives `key`.
void fall_back(Job& job, const char* fact, Value value, const char* key);

}  // namespace meshscope::jobs
