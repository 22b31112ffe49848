#pragma once

#include <string>

#include "core/mesh/device_mesh.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// The scenario's mesh over its world.
mesh::DeviceMesh build_mesh(const scenario::Scenario& scenario);

/// What a run of it is, before it has run: everything of RunInfo but steps, losses and gradient norms. A rank
/// stands on the node that [hardware] says, else on one node a row of a 2-D or larger mesh.
trace::RunInfo describe_run(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh,
                            const std::string& backend, trace::Level level);

}  // namespace meshscope::run
