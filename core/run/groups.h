#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/mesh/device_mesh.h"
#include "core/scenario/scenario.h"
#include "core/trace/trace.h"

namespace meshscope::run {

/// Of which dims of the run's mesh each dim of a data strategy's mesh is made, ascending: the data dims
/// (replicate, shard), one each. Context parallelism averages gradients as data ranks do, so its dim is
/// flattened into the last of them, mesh["shard", "cp"]._flatten(), as torchtitan does; where no data
/// strategy is, cp is the only one.
using DataDims = std::vector<std::vector<std::size_t>>;
DataDims data_dims(const scenario::Scenario& scenario);

/// The process groups of a run, in the one order that all ranks share: the world first, then every group of
/// every mesh dim, then those of flattened dims. Event::group and comm::Channel are indices into it.
struct GroupTable {
    std::vector<trace::Group> groups;
    std::vector<std::vector<int32_t>>
        by_dim;  ///< [mesh dim]: its groups' indices, in PyTorch's order of creation
    std::vector<std::vector<int32_t>> data;  ///< [dim of the data strategy's mesh]: the same

    int32_t whole_mesh =
        0;  ///< the group of all ranks that train: the world, or of a smaller mesh one of its own

    /// FSDP2's integer reshard_after_forward: by size, the groups of so many neighbours into which the groups
    /// of the data strategy's last dim are cut; called "shard/2".
    std::map<int64_t, std::vector<int32_t>> shard_parts;
    /// The same of the tp groups: the ranks that share each key/value head, "tp/2".
    std::map<int64_t, std::vector<int32_t>> tp_parts;

    /// First and last stage of each pipeline, where they share a tied parameter and are two ranks:
    /// "embedding".
    std::vector<int32_t> embedding;

    /// [call of Scenario::calls]: the groups whose members make it; where a call names ranks that are no
    /// group of the mesh, one of its own, called "[0, 2]".
    std::vector<std::vector<int32_t>> calls;

    /// Which of these groups has `rank`: one list of by_dim, data or shard_parts. The rank must be in the
    /// mesh.
    int32_t of(GlobalRank rank, const std::vector<int32_t>& indices) const;
};

/// `dim_names` names the groups; unnamed dims are called "dim 0", "dim 1" …, flattened ones as PyTorch names
/// them ("shard_cp"). `with_mesh`: a mesh smaller than the world gets a group of all its ranks, "mesh".
/// `shard_parts`: sizes, each a factor of the data strategy's last dim's.
GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size, const DataDims& data,
                       bool with_mesh = false, const std::vector<int64_t>& shard_parts = {});

/// The table of a scenario: make_groups with what its strategy needs, and the groups of its plain calls.
GroupTable groups_of(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh, bool with_mesh);

}  // namespace meshscope::run
