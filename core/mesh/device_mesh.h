#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/mesh/layout.h"

namespace meshscope::mesh {

using Shape = std::vector<int64_t>;
using Names = std::vector<std::string>;

/// How many group calls a mesh costs when it is made (slicing makes none).
struct GroupCost {
    int64_t new_group = 0;    ///< one call a subgroup, made by every rank, member or not
    int64_t split_group = 0;  ///< one call a mesh dim
};

/// An n-dimensional arrangement of ranks with named dims, by PyTorch 2.15's rules (torch/distributed/device_mesh.py).
///
/// A value, and pure: it belongs to no rank. What depends on who asks takes the asking rank as an argument. Every
/// function that PyTorch refuses throws InvalidArgument with a message that says what was asked, what is possible and of
/// which mesh. Ranks are never tabled: coordinates and groups of one rank cost O(ndim + size of the group), also on
/// meshes of 10^6 ranks.
class DeviceMesh {
  public:
    /// init_device_mesh: ranks 0 … Π shape - 1, row-major. `names` may be empty (unnamed).
    static DeviceMesh init(Shape shape, Names names, int64_t world_size);
    /// DeviceMesh(mesh, names): explicit ranks, row-major over `shape`.
    static DeviceMesh from_ranks(Shape shape, std::vector<int64_t> ranks, Names names, int64_t world_size);
    /// from_group: one dim made of an existing group, or several (groups[i] becomes dim i of `shape`).
    static DeviceMesh from_group(std::vector<int64_t> group, Names names, int64_t world_size);
    static DeviceMesh from_groups(const std::vector<std::vector<int64_t>>& groups, Shape shape, std::vector<int64_t> ranks,
                                  Names names, int64_t world_size);

    int64_t ndim() const;
    const Shape& shape() const;
    const Names& names() const;            ///< empty when unnamed
    int64_t size() const;                  ///< product of shape
    int64_t size(int64_t mesh_dim) const;
    int64_t world_size() const;
    /// The layout of one dim, or of all of them in order: shape:stride into the rank map.
    const Layout& layout(int64_t mesh_dim) const;
    int64_t mesh_dim(const std::string& name) const;  ///< throws when there is none

    /// The asking rank's place; nothing for a rank outside the mesh.
    std::optional<std::vector<int64_t>> coordinate(GlobalRank rank) const;
    /// Coordinate along one dim; throws for a rank outside.
    int64_t local_rank(GlobalRank rank, int64_t mesh_dim) const;
    /// All ranks of this mesh as the asking rank sees it (for a sub-mesh: the one that contains it), row-major.
    /// For a rank outside a root mesh: the root's ranks; outside a sub-mesh: throws, as PyTorch does.
    std::vector<int64_t> ranks(GlobalRank asking) const;
    /// The asking rank's group along a dim, sorted ascending, as new_group sorts.
    std::vector<int64_t> group(GlobalRank rank, int64_t mesh_dim) const;
    /// get_all_groups(): one a mesh dim.
    std::vector<std::vector<int64_t>> groups(GlobalRank rank) const;
    /// Every group of a dim over the whole mesh, each sorted, in PyTorch's order of creation.
    std::vector<std::vector<int64_t>> all_groups(int64_t mesh_dim) const;

    DeviceMesh slice(const Names& names) const;                      ///< mesh["a","b"]
    DeviceMesh flatten(const std::string& new_name = "") const;      ///< _flatten; "" = names joined by "_" (PyTorch's default)
    DeviceMesh unflatten(int64_t mesh_dim, Shape sizes, Names names) const;
    static DeviceMesh concatenate(const std::vector<DeviceMesh>& meshes);

    GroupCost cost() const;
    /// PyTorch's repr: DeviceMesh((replicate=2, shard=2, tp=2), 'cpu', stride=(4, 2, 1)).
    std::string repr() const;

  private:
    struct Root;                         // the rank map and what was flattened from it; shared by all its views
    DeviceMesh() = default;
    std::shared_ptr<const Root> root_;
    std::vector<Layout> layouts_;        // one a mesh dim
    Shape shape_;
    Names names_;
    bool is_root_ = true;
};

}  // namespace meshscope::mesh
