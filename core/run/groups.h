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

    /// The group of `rank` along `mesh_dim`. The rank must be in the mesh.
    int32_t of(GlobalRank rank, std::size_t mesh_dim) const;
};

/// `dim_names` names the groups; unnamed dims are called "dim 0", "dim 1" ….
GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size);

}  // namespace meshscope::run
