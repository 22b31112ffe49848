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

/// Where torchtitan's degrees, all of them known, leave replicas without shards, what its versions before
/// 2026 make of these: DDP, or nothing where there is one, instead of FSDP. Together with other dims that is
/// a mistake ("jobs.ddp_alone").
void settle_replicas(Job& job);

/// What `job.program` takes where nobody gives `key`.
void fall_back(Job& job, const char* fact, Value value, const char* key);

}  // namespace meshscope::jobs
