#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads the file that [parallel] algorithm names, from the scenario's folder, and proves it for each dim of
/// the mesh that it is for; what is wrong is reported at the line of the algorithm's own file. Needs
/// s.mesh_shape.
void read_own_algorithm(const Section& parallel, Scenario& s);

}  // namespace meshscope::scenario
