#pragma once

#include "core/jobs/document.h"
#include "core/jobs/job.h"
#include "core/jobs/table.h"

namespace meshscope::jobs {

/// The model of torchtitan's configuration, as facts "model.…". A saved configuration holds every layer; the
/// older TOML names a flavor, whose sizes stand in torchtitan's own code: those of llama3 are known here
/// (torchtitan/models/llama3), of others the model stays unknown.
void read_torchtitan_model(const Document& document, const Table& root, Job& job);

}  // namespace meshscope::jobs
