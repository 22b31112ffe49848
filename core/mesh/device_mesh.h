#pragma once

#include <cstdint>
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

/// The group calls that making one mesh cost (slicing and concatenating make none; flatten and unflatten pay
/// for their new dims). Counted as PyTorch does it: a dim that spans the whole world reuses the default group
/// and costs nothing, every other dim costs one new_group a subgroup, made by every rank whether a member or
/// not, or one split_group. (2,2,2) on 8 ranks: 12 and 3; (2,4): 6 and 2; (8): 0 and 0.
struct GroupCost {
    int64_t new_group = 0;    ///< the default way
    int64_t split_group = 0;  ///< when the default group is bound to an accelerator (ncclCommSplit)
    friend bool operator==(const GroupCost&, const GroupCost&) = default;
};

/// A list of ranks that may be too long to hold or to read: how many, the first of them (all, where they are
/// few), the last.
struct RankExcerpt {
    int64_t size = 0;
    std::vector<int64_t> first;
    int64_t last = 0;
    bool whole() const { return static_cast<int64_t>(first.size()) == size; }
    friend bool operator==(const RankExcerpt&, const RankExcerpt&) = default;
};

/// An n-dimensional arrangement of ranks with named dims, by PyTorch 2.15's rules
/// (torch/distributed/device_mesh.py).
///
/// A value, and pure: it belongs to no rank. What depends on who asks takes the asking rank as an argument.
/// Every function that PyTorch refuses throws InvalidArgument; its message has the arguments `asked`,
/// `possible` and `mesh` where they make sense, and `pytorch_error`, `pytorch_text`: the type and text of
/// PyTorch's own exception. Ranks are never tabled for a mesh that init() made: coordinates and groups of one
/// rank cost O(ndim + size of the group), also on meshes of 10^6 ranks. A mesh of explicit ranks keeps one
/// table, shared by all its views.
///
/// A mesh and its views share the names that flatten() gave (PyTorch's _flatten_mapping), behind a lock:
/// views may be used from several threads.
class DeviceMesh {
  public:
    /// init_device_mesh: ranks 0 … Π shape - 1, row-major. `names` may be empty (unnamed). Cost: O(ndim).
    /// Throws for a name twice, a wrong number of names, a size below 1, more than 1,024 dims, a mesh larger
    /// than the world (a smaller one is allowed).
    static DeviceMesh init(Shape shape, Names names, int64_t world_size);
    /// DeviceMesh(mesh, names): explicit ranks, row-major over `shape`. Cost: O(ranks).
    /// Throws as init(), and for a rank outside the world or there twice. Stricter than PyTorch in two
    /// points: PyTorch takes surplus names and a name twice here without a word, and sees a rank twice only
    /// on the ranks it hits.
    static DeviceMesh from_ranks(Shape shape, std::vector<int64_t> ranks, Names names, int64_t world_size);
    /// from_group: one dim made of an existing group. No group calls.
    static DeviceMesh from_group(std::vector<int64_t> group, Names names, int64_t world_size);
    /// from_group with a list: groups[i] becomes dim i of a mesh with these ranks, row-major over `shape`;
    /// all groups are those of one rank. No group calls. Stricter than PyTorch: each group must be one of the
    /// mesh's own of its dim (PyTorch believes what it is given).
    static DeviceMesh from_groups(const std::vector<std::vector<int64_t>>& groups, Shape shape,
                                  std::vector<int64_t> ranks, Names names, int64_t world_size);

    int64_t ndim() const;
    const Shape& shape() const;
    const Names& names() const;  ///< empty when unnamed
    int64_t size() const;        ///< product of shape
    int64_t size(int64_t mesh_dim) const;
    int64_t world_size() const;
    /// The layout of one dim: shape:stride into the rank map. A flattened dim may have two modes,
    /// (2,2):(4,1).
    const Layout& layout(int64_t mesh_dim) const;
    /// All dims in order.
    const std::vector<Layout>& layouts() const;
    int64_t mesh_dim(const std::string& name) const;  ///< throws when there is none
    /// The dim that get_group() (`for_group`) and get_local_rank() mean where none is named: the only one;
    /// throws where there are several.
    int64_t only_dim(bool for_group) const;
    /// Whether the rank stands anywhere in the root mesh. Cost: O(1).
    bool contains(GlobalRank rank) const;

    /// The asking rank's place; nothing for a rank outside the mesh. Cost: O(ndim).
    std::optional<std::vector<int64_t>> coordinate(GlobalRank rank) const;
    /// The asking rank's place in its group along a dim: get_local_rank(dim). It is the coordinate, except
    /// where explicit ranks do not rise along the dim, because groups are sorted. Throws for a rank outside.
    int64_t local_rank(GlobalRank rank, int64_t mesh_dim) const;
    /// get_local_rank() without a dim: for 1-d meshes only, throws otherwise.
    int64_t local_rank(GlobalRank rank) const;
    /// All ranks of this mesh as the asking rank sees it (for a sub-mesh: the one that contains it),
    /// row-major. For a rank outside: the root's ranks of a mesh that has all its root's dims; throws for a
    /// sub-mesh, as PyTorch. Cost: O(size()).
    std::vector<int64_t> ranks(GlobalRank asking) const;
    /// The asking rank's group along a dim, sorted ascending, as new_group sorts. Throws for a rank outside.
    std::vector<int64_t> group(GlobalRank rank, int64_t mesh_dim) const;
    /// get_group() without a dim: for 1-d meshes only, throws otherwise.
    std::vector<int64_t> group(GlobalRank rank) const;
    /// get_all_groups(): one a mesh dim.
    std::vector<std::vector<int64_t>> groups(GlobalRank rank) const;
    /// Every group of a dim over the whole root mesh, each sorted, in PyTorch's order of creation. Cost:
    /// O(root).
    std::vector<std::vector<int64_t>> all_groups(int64_t mesh_dim) const;

    /// ranks(), group() and the first `groups` of all_groups(), in which a list of more than `most` ranks is
    /// cut to its first three and its last. Throw as those do. Cost, on a mesh that init() made: O(most) a
    /// list, however large the mesh; with explicit ranks O(their list).
    RankExcerpt ranks_excerpt(GlobalRank asking, int64_t most) const;
    RankExcerpt group_excerpt(GlobalRank rank, int64_t mesh_dim, int64_t most) const;
    std::vector<RankExcerpt> group_excerpts(int64_t mesh_dim, int64_t groups, int64_t most) const;
    /// How many groups all_groups() has. O(1).
    int64_t group_count(int64_t mesh_dim) const;

    /// mesh["a","b"]: the dims named, in mesh order, the asking rank's coordinate on all others. Sub-meshes
    /// slice by their own names; the root also by the names that flatten() gave. Throws for no names, an
    /// unknown name, names in another order than the mesh's, dims that overlap. `list`: they were written
    /// as a Python list, which PyTorch's refusals repeat.
    DeviceMesh slice(const Names& names, bool list = false) const;
    /// Throws what PyTorch raises where something else than names stands in the brackets: mesh[0], mesh[0,
    /// 1]. `index` is it in Python's words; `several` tells whether it is a tuple.
    [[noreturn]] void refuse_index(const std::string& index, bool several) const;
    /// The dim that flatten() gave this name, in whichever view of the root; nothing where none did.
    std::optional<DeviceMesh> flattened(const std::string& name) const;
    /// _flatten: one dim of all this mesh's ranks. "" = names joined by "_" (PyTorch's default). Asking again
    /// for the same gives the same and costs no group call; another layout under a name that is taken throws.
    DeviceMesh flatten(const std::string& new_name = "") const;
    /// _unflatten: a dim becomes several, row-major. Throws when the sizes do not multiply to the dim's size
    /// (PyTorch infers no -1 here), or cut across the modes of a flattened dim.
    DeviceMesh unflatten(int64_t mesh_dim, Shape sizes, Names names) const;
    DeviceMesh unflatten(const std::string& mesh_dim, Shape sizes, Names names) const;
    /// _concatenate: the dims of views of one mesh side by side, in any order. Throws when they overlap or
    /// come from meshes with other ranks.
    static DeviceMesh concatenate(const std::vector<DeviceMesh>& meshes);

    /// What making this mesh cost, by GroupCost's rules.
    GroupCost cost() const;
    /// PyTorch's repr: DeviceMesh((replicate=2, shard=2, tp=2), 'cpu', stride=(4, 2, 1)).
    std::string repr() const;

    /// Same ranks, layouts and names.
    friend bool operator==(const DeviceMesh& a, const DeviceMesh& b);

  private:
    struct Root;  // the rank map and what was flattened from it; shared by all its views
    DeviceMesh(std::shared_ptr<const Root> root, std::vector<Layout> layouts, Names names);

    /// `in`: where Python looks for the dim, which its refusal names.
    const Layout& checked_layout(int64_t mesh_dim, const char* in = "list") const;
    int64_t position_inside(GlobalRank rank, const char* what) const;
    GroupCost cost_of(const std::vector<Layout>& dims) const;
    int64_t base_of_view(const Layout& whole, GlobalRank asking) const;
    RankExcerpt excerpt(const Layout& layout, int64_t base, int64_t most, bool sorted) const;
    bool is_root() const;

    std::shared_ptr<const Root> root_;
    std::vector<Layout> layouts_;  // one a mesh dim
    Shape shape_;
    Names names_;
    GroupCost cost_;
};

}  // namespace meshscope::mesh
