#pragma once

#include "core/jobs/job.h"

namespace meshscope::jobs {

/// The number of ranks and of data-parallel ones, the batch, and the mesh: what follows from a job's facts.
/// What is to be known goes into `missing`, what contradicts itself into `found`.
void settle(Job& job);

}  // namespace meshscope::jobs
