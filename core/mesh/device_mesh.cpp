#include "core/mesh/device_mesh.h"

#include <algorithm>

#include "core/mesh/device_mesh_root.h"
#include "core/mesh/python_text.h"

namespace meshscope::mesh {

void refuse(const char* id, std::vector<MessageArg> args, PyTorchError pytorch) {
    args.push_back({"pytorch_error", std::move(pytorch.type)});
    args.push_back({"pytorch_text", std::move(pytorch.text)});
    throw InvalidArgument({id, std::move(args)});
}

std::string repr_text(const Names& names, const std::vector<Layout>& layouts) {
    std::string dims;
    Shape sizes;
    for (size_t d = 0; d < layouts.size(); ++d) {
        sizes.push_back(layouts[d].numel());
        if (!names.empty())
            dims += (d == 0 ? "" : ", ") + names[d] + "=" + std::to_string(layouts[d].numel());
    }
    std::string strides;
    for (size_t d = 0; d < layouts.size(); ++d) {
        const std::vector<int64_t>& stride = layouts[d].stride();
        strides +=
            (d == 0 ? "" : ", ") + (stride.size() == 1 ? std::to_string(stride[0]) : python_tuple(stride));
    }
    if (layouts.size() == 1) strides += ",";
    return "DeviceMesh(" + (names.empty() ? python_tuple(sizes) : "(" + dims + ")") + ", 'cpu', stride=(" +
           strides + "))";
}

DeviceMesh::DeviceMesh(std::shared_ptr<const Root> root, std::vector<Layout> layouts, Names names)
    : root_(std::move(root)), layouts_(std::move(layouts)), names_(std::move(names)) {
    for (const Layout& layout : layouts_) shape_.push_back(layout.numel());
}

int64_t DeviceMesh::ndim() const {
    return static_cast<int64_t>(layouts_.size());
}
const Shape& DeviceMesh::shape() const {
    return shape_;
}
const Names& DeviceMesh::names() const {
    return names_;
}
const std::vector<Layout>& DeviceMesh::layouts() const {
    return layouts_;
}
int64_t DeviceMesh::world_size() const {
    return root_->world_size;
}
GroupCost DeviceMesh::cost() const {
    return cost_;
}
std::string DeviceMesh::repr() const {
    return repr_text(names_, layouts_);
}
const Layout& DeviceMesh::layout(int64_t mesh_dim) const {
    return checked_layout(mesh_dim);
}
int64_t DeviceMesh::size(int64_t mesh_dim) const {
    return checked_layout(mesh_dim, "tuple").numel();
}
bool DeviceMesh::contains(GlobalRank rank) const {
    return root_->position_of(rank.value).has_value();
}

int64_t DeviceMesh::size() const {
    int64_t product = 1;
    for (const int64_t size : shape_) product *= size;
    return product;
}

const Layout& DeviceMesh::checked_layout(int64_t mesh_dim, const char* in) const {
    if (mesh_dim < 0 || mesh_dim >= ndim())
        refuse("mesh.dim_out_of_range", {{"asked", mesh_dim}, {"ndim", ndim()}, {"mesh", repr()}},
               {"IndexError", std::string(in) + " index out of range"});
    return layouts_[static_cast<size_t>(mesh_dim)];
}

int64_t DeviceMesh::mesh_dim(const std::string& name) const {
    if (names_.empty())
        refuse("mesh.unnamed", {{"asked", name}, {"mesh", repr()}},
               {"KeyError", "No `mesh_dim_names` found."});
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
        const std::string possible = "Available mesh dimensions are: mesh_dim_names=" + python_tuple(names_);
        refuse("mesh.no_such_dim", {{"asked", name}, {"possible", python_tuple(names_)}, {"mesh", repr()}},
               {"KeyError", "(" + python_repr("Mesh dimension '" + name + "' does not exist.") + ", " +
                                python_repr(possible) + ")"});
    }
    return found - names_.begin();
}

int64_t DeviceMesh::only_dim(bool for_group) const {
    if (ndim() > 1) {
        std::string text =
            "('Found the DeviceMesh have " + std::to_string(ndim()) +
            " dimensions', 'Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.'";
        if (for_group)
            text +=
                ", 'If you want to get the list of all the ProcessGroups in the DeviceMesh,please use "
                "`get_all_groups()` instead.'";
        refuse("mesh.dim_needed", {{"ndim", ndim()}, {"possible", python_tuple(names_)}, {"mesh", repr()}},
               {"RuntimeError", text + ")"});
    }
    return 0;
}

int64_t DeviceMesh::position_inside(GlobalRank rank, const char* what) const {
    const std::optional<int64_t> position = root_->position_of(rank.value);
    if (!position)
        refuse("mesh.rank_outside",
               {{"asked", std::string(what)}, {"rank", int64_t{rank.value}}, {"mesh", repr()}},
               {"IndexError", "list index out of range"});
    return *position;
}

std::optional<std::vector<int64_t>> DeviceMesh::coordinate(GlobalRank rank) const {
    const std::optional<int64_t> position = root_->position_of(rank.value);
    if (!position) return std::nullopt;
    std::vector<int64_t> result;
    result.reserve(layouts_.size());
    for (const Layout& layout : layouts_) result.push_back(layout.index_at(*position));
    return result;
}

int64_t DeviceMesh::local_rank(GlobalRank rank, int64_t mesh_dim) const {
    const Layout& layout = checked_layout(mesh_dim);
    const int64_t position = position_inside(rank, "get_local_rank");
    // Ranks that rise along the dim stand in the sorted group where they stand in the mesh.
    if (root_->table.empty() && layout.check_sorted()) return layout.index_at(position);
    const std::vector<int64_t> members = group(rank, mesh_dim);
    return std::find(members.begin(), members.end(), int64_t{rank.value}) - members.begin();
}

int64_t DeviceMesh::local_rank(GlobalRank rank) const {
    return local_rank(rank, only_dim(false));
}

int64_t DeviceMesh::base_of_view(const Layout& whole, GlobalRank asking) const {
    const std::optional<int64_t> position = root_->position_of(asking.value);
    // A mesh that covers its root is the same for everyone; a sub-mesh is the one that holds the asking rank.
    if (!position && size() != root_->size)
        refuse("mesh.rank_outside_submesh", {{"rank", int64_t{asking.value}}, {"mesh", repr()}},
               {"RuntimeError",
                "In order to get the mesh Tensor of a DeviceMesh it needs to either have all its original "
                "dimensions "
                "(e.g., no slicing) or it needs to contain the local rank"});
    return position ? whole.base_of(*position) : 0;
}

std::vector<int64_t> DeviceMesh::ranks(GlobalRank asking) const {
    const Layout whole = collapse(layouts_);
    const int64_t base = base_of_view(whole, asking);
    std::vector<int64_t> result = whole.offsets();
    for (int64_t& entry : result) entry = root_->rank_at(base + entry);
    return result;
}

std::vector<int64_t> DeviceMesh::group(GlobalRank rank, int64_t mesh_dim) const {
    const Layout& layout = checked_layout(mesh_dim);
    const int64_t base = layout.base_of(position_inside(rank, "get_group"));
    std::vector<int64_t> members = layout.offsets();
    for (int64_t& member : members) member = root_->rank_at(base + member);
    std::sort(members.begin(), members.end());
    return members;
}

std::vector<int64_t> DeviceMesh::group(GlobalRank rank) const {
    return group(rank, only_dim(true));
}

std::vector<std::vector<int64_t>> DeviceMesh::groups(GlobalRank rank) const {
    std::vector<std::vector<int64_t>> result;
    for (int64_t dim = 0; dim < ndim(); ++dim) result.push_back(group(rank, dim));
    return result;
}

std::vector<std::vector<int64_t>> DeviceMesh::all_groups(int64_t mesh_dim) const {
    std::vector<std::vector<int64_t>> result = checked_layout(mesh_dim).rows(root_->size);
    for (std::vector<int64_t>& row : result) {
        for (int64_t& member : row) member = root_->rank_at(member);
        std::sort(row.begin(), row.end());
    }
    return result;
}

GroupCost DeviceMesh::cost_of(const std::vector<Layout>& dims) const {
    GroupCost cost;
    for (const Layout& dim : dims) {
        if (dim.numel() == root_->world_size) continue;  // the default group is reused
        cost.new_group += root_->size / dim.numel();
        cost.split_group += 1;
    }
    return cost;
}

bool DeviceMesh::is_root() const {
    return layouts_ == root_->layouts && names_ == root_->names;
}

bool operator==(const DeviceMesh& a, const DeviceMesh& b) {
    return a.root_->size == b.root_->size && a.root_->table == b.root_->table && a.layouts_ == b.layouts_ &&
           a.names_ == b.names_;
}

}  // namespace meshscope::mesh
