#pragma once

#include "core/jobs/job.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {

/// The model that Megatron's arguments describe, as facts "model.…"; what differs from it is noted.
void read_megatron_model(const Table& args, Job& job);

}  // namespace meshscope::jobs
