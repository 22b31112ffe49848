#pragma once

#include <cstdint>
#include <vector>

#include "core/mesh/device_mesh.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// The process groups of a run, in the one order that all ranks share: the world first, then every group of
/// every mesh dim. Event::group and comm::Channel are indices into it.
struct GroupTable {
    std::vector<trace::Group> groups;
    std::vector<std::vector<int32_t>>
        by_dim;  ///< [mesh dim]: its groups' indices, in PyTorch's order of creation

    int32_t whole_mesh =
        0;  ///< the group of all ranks that train: the world, or of a smaller mesh one of its own

    /// The group of `rank` along `mesh_dim`. The rank must be in the mesh.
    int32_t of(GlobalRank rank, std::size_t mesh_dim) const;
};

/// `dim_names` names the groups; unnamed dims are called "dim 0", "dim 1" …. `with_mesh`: a mesh smaller than
/// the world gets a group of all its ranks, "mesh".
GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size, bool with_mesh = false);

}  // namespace meshscope::run
