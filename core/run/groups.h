#pragma once

#include <cstdint>
#include <map>
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

    /// FSDP2's integer reshard_after_forward: by size, the groups of so many neighbours into which the groups
    /// of the dim `shard` are cut; called "shard/2".
    std::map<int64_t, std::vector<int32_t>> shard_parts;

    /// The group of `rank` of that size.
    int32_t part_of(GlobalRank rank, int64_t size) const;
    /// The group of `rank` along `mesh_dim`. The rank must be in the mesh.
    int32_t of(GlobalRank rank, std::size_t mesh_dim) const;
};

/// `dim_names` names the groups; unnamed dims are called "dim 0", "dim 1" …. `with_mesh`: a mesh smaller than
/// the world gets a group of all its ranks, "mesh". `shard_parts`: sizes, each a factor of the dim shard's.
GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size, bool with_mesh = false,
                       const std::vector<int64_t>& shard_parts = {});

}  // namespace meshscope::run
