#pragma once

#include <string>
#include <vector>

#include "core/mesh/device_mesh.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// The scenario's mesh over its world.
mesh::DeviceMesh build_mesh(const scenario::Scenario& scenario);

/// Which node each rank of the world stands on: as [hardware] says, else one node a row of a 2-D or larger
/// mesh, else one for all.
std::vector<int32_t> node_of_rank(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh);

/// What a run of it is, before it has run: everything of RunInfo but steps, losses and gradient norms.
trace::RunInfo describe_run(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh,
                            const std::string& backend, trace::Level level);

}  // namespace meshscope::run
