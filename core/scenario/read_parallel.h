#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads [mesh] and [parallel]; `scenario` holds the model and [train] already, so that the batch can be
/// checked against the ranks that share it (reported in `train`), and the units and what tensor parallelism
/// cuts against the model (reported in `model`). False when the mesh could not be read, so that nobody can
/// say how many ranks there are.
bool read_mesh_and_parallel(const Section& root, const Section& model, const Section& train,
                            Scenario& scenario);

/// The same where nothing is trained: [mesh] with any names, and of [parallel] `algorithm` alone; the other
/// keys are refused.
bool read_mesh_and_algorithm(const Section& root, Scenario& scenario);

/// A mesh's shape and names, for the run or for a lesson's picture: the shape has 1 to 8 dims and at most
/// kMostRanks ranks, the names are one a dim, each once. Wrong parts are reported and come back empty.
struct MeshKeys {
    mesh::Shape shape;
    mesh::Names names;
};
MeshKeys read_mesh_keys(const Section& mesh);

}  // namespace meshscope::scenario
