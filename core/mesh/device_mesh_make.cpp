#include <algorithm>
#include <limits>

#include "core/mesh/device_mesh.h"
#include "core/mesh/device_mesh_root.h"
#include "core/mesh/python_text.h"

namespace meshscope::mesh {

namespace {

/// PyTorch sets no limit; beyond 64 most of its functions refuse a tensor.
constexpr size_t kMostDims = 1024;

std::string shape_text(const Shape& shape) {
    std::string text = "(";
    for (size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(shape[d]);
    return text + ")";
}

/// Product of sizes ≥ 1; stays at the largest number there is instead of running over.
int64_t product_of(const Shape& shape) {
    int64_t product = 1;
    for (const int64_t size : shape) {
        if (size > std::numeric_limits<int64_t>::max() / product) return std::numeric_limits<int64_t>::max();
        product *= size;
    }
    return product;
}

void check_names(const Shape& shape, const Names& names, bool explicit_ranks) {
    if (names.empty()) return;
    const auto n_names = static_cast<int64_t>(names.size());
    const auto n_dims = static_cast<int64_t>(shape.size());
    Names sorted = names;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    // With explicit ranks PyTorch looks at the names only where it needs one: its type and text are empty
    // then.
    if (twice != sorted.end())
        refuse("mesh.name_twice",
               {{"name", *twice}, {"asked", python_tuple(names)}, {"mesh", shape_text(shape)}},
               explicit_ranks
                   ? PyTorchError{}
                   : PyTorchError{"RuntimeError",
                                  "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in "
                                  "mesh_dim_names " +
                                      python_tuple(names)});
    if (n_names != n_dims) {
        PyTorchError pytorch{"RuntimeError",
                             "mesh_shape and mesh_dim_names should have same length! Found "
                             "len(mesh_dim_names): " +
                                 std::to_string(n_names) + " and len(mesh_shape):" + std::to_string(n_dims) +
                                 "."};
        if (explicit_ranks)
            pytorch =
                n_names < n_dims ? PyTorchError{"IndexError", "tuple index out of range"} : PyTorchError{};
        refuse("mesh.names_do_not_fit",
               {{"names", n_names},
                {"ndim", n_dims},
                {"asked", python_tuple(names)},
                {"mesh", shape_text(shape)}},
               pytorch);
    }
}

void check_sizes(const Shape& shape, int64_t world_size) {
    if (world_size < 1)
        refuse("mesh.bad_world", {{"world", world_size}}, {"ValueError", "world_size must be positive"});
    if (shape.size() > kMostDims)  // printing a nested list calls itself once a dim
        refuse("mesh.too_many_dims",
               {{"ndim", static_cast<int64_t>(shape.size())}, {"most", static_cast<int64_t>(kMostDims)}}, {});
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] >= 1) continue;
        // PyTorch has no check of its own here; what stops it is one of its assertions or a tensor function.
        refuse("mesh.bad_size",
               {{"size", shape[d]}, {"mesh_dim", static_cast<int64_t>(d)}, {"mesh", shape_text(shape)}},
               shape[d] == 0
                   ? PyTorchError{"AssertionError", ""}
                   : PyTorchError{"RuntimeError", "upper bound and lower bound inconsistent with step sign"});
    }
    const int64_t needed = product_of(shape);
    if (needed == std::numeric_limits<int64_t>::max())  // the product stopped there: how many is not known
        refuse("mesh.larger_than_world",
               {{"mesh", shape_text(shape)}, {"needed", std::string(">2^63-1")}, {"world", world_size}},
               {"RuntimeError", ""});
    if (needed > world_size)
        refuse("mesh.larger_than_world",
               {{"mesh", shape_text(shape)}, {"needed", needed}, {"world", world_size}},
               {"RuntimeError", "Mesh should not be bigger than default world size " +
                                    std::to_string(world_size) + ", but found " + std::to_string(needed) +
                                    " ranks!"});
}

/// What PyTorch says about a rank that stands twice: it meets it while making the groups of one dim after the
/// other.
PyTorchError twice_in_pytorch(const Shape& shape, const std::vector<int64_t>& ranks, int64_t rank,
                              int64_t world) {
    for (const Layout& dim : row_major(shape)) {
        if (dim.numel() == world) continue;  // the default group, not looked at
        int64_t rows_with_it = 0;
        for (std::vector<int64_t>& row : dim.rows(static_cast<int64_t>(ranks.size()))) {
            for (int64_t& entry : row) entry = ranks[static_cast<size_t>(entry)];
            const int64_t there = std::count(row.begin(), row.end(), rank);
            if (there > 1) {
                std::sort(row.begin(), row.end());
                return {"ValueError",
                        "ranks list must not contain duplicate entries, got " + python_list(row)};
            }
            rows_with_it += there;
            if (rows_with_it > 1)
                return {"RuntimeError",
                        "Each device mesh dimension should get only one process group, but got " +
                            std::to_string(rank) + " in " + python_list(row) + "!"};
        }
    }
    return {"AssertionError", "rank_coords.size(0) must be 0 or 1, got " +
                                  std::to_string(std::count(ranks.begin(), ranks.end(), rank))};
}

}  // namespace

void check_no_overlap(const std::vector<Layout>& layouts) {
    if (!collapse(layouts).check_orthogonal())
        refuse("mesh.layout_overlaps", {{"layout", collapse(layouts).to_text()}},
               {"AssertionError", "Please use a non-overlapping layout when creating a DeviceMesh."});
}

DeviceMesh DeviceMesh::init(Shape shape, Names names, int64_t world_size) {
    check_names(shape, names, false);
    check_sizes(shape, world_size);
    auto root = std::make_shared<Root>();
    root->size = product_of(shape);
    root->world_size = world_size;
    root->layouts = row_major(shape);
    root->names = names;
    DeviceMesh mesh(root, root->layouts, std::move(names));
    mesh.cost_ = mesh.cost_of(mesh.layouts_);
    return mesh;
}

DeviceMesh DeviceMesh::from_ranks(Shape shape, std::vector<int64_t> ranks, Names names, int64_t world_size) {
    check_names(shape, names, true);
    check_sizes(shape, world_size);
    const int64_t needed = product_of(shape);
    const auto n_ranks = static_cast<int64_t>(ranks.size());
    if (n_ranks != needed)
        refuse("mesh.ranks_do_not_fit", {{"mesh", shape_text(shape)}, {"needed", needed}, {"ranks", n_ranks}},
               {"RuntimeError", "shape '" + python_list(shape) + "' is invalid for input of size " +
                                    std::to_string(n_ranks)});
    auto root = std::make_shared<Root>();
    root->size = needed;
    root->world_size = world_size;
    bool in_order = true;
    for (int64_t i = 0; i < needed; ++i) {
        const int64_t rank = ranks[static_cast<size_t>(i)];
        if (rank < 0 || rank >= world_size)
            refuse("mesh.rank_outside_world",
                   {{"rank", rank}, {"world", world_size}, {"mesh", shape_text(shape)}},
                   {"ValueError", "Rank " + std::to_string(rank) + " is out of range. Valid ranks are 0 to " +
                                      std::to_string(world_size - 1) +
                                      " (world_size=" + std::to_string(world_size) + ")"});
        in_order = in_order && rank == i;
    }
    if (!in_order) {
        root->places.reserve(ranks.size());
        for (int64_t i = 0; i < needed; ++i) {
            const int64_t rank = ranks[static_cast<size_t>(i)];
            if (!root->places.emplace(rank, i).second)
                refuse("mesh.rank_twice",
                       {{"rank", rank},
                        {"asked", python_nested_list(shape, ranks)},
                        {"mesh", shape_text(shape)}},
                       twice_in_pytorch(shape, ranks, rank, world_size));
        }
        root->table = std::move(ranks);
    }
    root->layouts = row_major(shape);
    root->names = names;
    DeviceMesh mesh(root, root->layouts, std::move(names));
    mesh.cost_ = mesh.cost_of(mesh.layouts_);
    return mesh;
}

DeviceMesh DeviceMesh::from_group(std::vector<int64_t> group, Names names, int64_t world_size) {
    const auto size = static_cast<int64_t>(group.size());
    DeviceMesh mesh = from_ranks({size}, std::move(group), std::move(names), world_size);
    mesh.cost_ = {};  // the group is there already
    return mesh;
}

DeviceMesh DeviceMesh::from_groups(const std::vector<std::vector<int64_t>>& groups, Shape shape,
                                   std::vector<int64_t> ranks, Names names, int64_t world_size) {
    if (groups.empty())
        refuse("mesh.no_groups", {{"mesh", shape_text(shape)}},
               {"ValueError", "Expects at least one ProcessGroup to be passed"});
    if (names.empty())
        refuse("mesh.groups_unnamed", {{"mesh", shape_text(shape)}},
               {"ValueError", "Must pass mesh_dim_names if passing multiple ProcessGroups"});
    const auto n_groups = static_cast<int64_t>(groups.size());
    if (groups.size() != shape.size())
        refuse(
            "mesh.groups_do_not_fit",
            {{"groups", n_groups}, {"ndim", static_cast<int64_t>(shape.size())}, {"mesh", shape_text(shape)}},
            {"ValueError",
             "Expects mesh with ndim equal to number of ProcessGroups but got mesh " +
                 (product_of(shape) == static_cast<int64_t>(ranks.size()) ? python_nested_list(shape, ranks)
                                                                          : python_list(ranks)) +
                 " and " + std::to_string(n_groups) + " ProcessGroups"});
    DeviceMesh mesh = from_ranks(std::move(shape), std::move(ranks), std::move(names), world_size);
    for (int64_t dim = 0; dim < mesh.ndim(); ++dim) {
        std::vector<int64_t> given = groups[static_cast<size_t>(dim)];
        std::sort(given.begin(), given.end());
        const bool inside = !given.empty() && mesh.root_->position_of(given.front()).has_value();
        if (!inside || mesh.group(GlobalRank{static_cast<int32_t>(given.front())}, dim) != given)
            refuse("mesh.group_is_no_row",
                   {{"asked", python_list(given)},
                    {"mesh_dim", mesh.names_[static_cast<size_t>(dim)]},
                    {"mesh", mesh.repr()}},
                   {});
    }
    mesh.cost_ = {};
    return mesh;
}

}  // namespace meshscope::mesh
