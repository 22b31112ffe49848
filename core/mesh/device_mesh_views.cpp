#include <algorithm>
#include <limits>

#include "core/mesh/device_mesh.h"
#include "core/mesh/device_mesh_root.h"
#include "core/mesh/python_text.h"

namespace meshscope::mesh {

namespace {

constexpr const char* kNoneText = "Invariant encountered: value was None when it should not be";

/// The names in the order that slicing accepts: by falling stride.
Names in_mesh_order(const Names& names, const std::vector<Layout>& layouts) {
    std::vector<size_t> order;
    for (size_t i = 0; i < names.size(); ++i) order.push_back(i);
    const auto outermost = [&](size_t i) {
        return layouts[i].stride().empty() ? 0 : layouts[i].stride().front();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return outermost(a) > outermost(b); });
    Names sorted;
    for (const size_t i : order) sorted.push_back(names[i]);
    return sorted;
}

/// Whether slicing takes these dims in mesh order: not where one was flattened across another, or of it.
bool can_be_sorted(std::vector<Layout> dims) {
    std::stable_sort(dims.begin(), dims.end(), [](const Layout& a, const Layout& b) {
        return (a.stride().empty() ? 0 : a.stride().front()) > (b.stride().empty() ? 0 : b.stride().front());
    });
    const Layout whole = collapse(dims);
    return whole.check_sorted() && whole.check_orthogonal();
}

/// Of sizes; more than 64 bits hold: the largest number, which no dim has.
int64_t saturating_product(const Shape& sizes) {
    int64_t product = 1;
    for (const int64_t size : sizes)
        if (__builtin_mul_overflow(product, size, &product)) return std::numeric_limits<int64_t>::max();
    return product;
}

std::string wrong_product(const Shape& sizes, int64_t mesh_dim, int64_t size) {
    return "The product of mesh_sizes=" + python_tuple(sizes) + " is " + python_product(sizes) +
           ", but the original dimension at dim=" + std::to_string(mesh_dim) + " has size " +
           std::to_string(size) + ". These must be equal for unflatten to work correctly.";
}

/// What PyTorch says to a dim below 0: it counts from the end for the size, and for nothing after it.
PyTorchError below_zero(const Shape& shape, int64_t mesh_dim, const Shape& sizes) {
    const auto n_dims = static_cast<int64_t>(shape.size());
    if (mesh_dim < -n_dims) return {"IndexError", "tuple index out of range"};
    const int64_t size = shape[static_cast<std::size_t>(n_dims + mesh_dim)];
    if (saturating_product(sizes) != size) return {"ValueError", wrong_product(sizes, mesh_dim, size)};
    return {"AssertionError", "Please use a non-overlapping layout when creating a DeviceMesh."};
}

}  // namespace

DeviceMesh DeviceMesh::slice(const Names& names, bool list) const {
    const std::string asked = list ? python_list(names) : python_tuple(names);
    if (names_.empty())
        refuse("mesh.unnamed", {{"asked", asked}, {"mesh", repr()}},
               {"RuntimeError", "Cannot slice a DeviceMesh without mesh_dim_names!"});
    if (names == names_) {
        DeviceMesh same = *this;
        same.cost_ = {};
        return same;
    }
    // Only the root also knows the names that flatten() gave.
    std::vector<std::pair<std::string, Layout>> flattened;
    if (is_root()) {
        const std::lock_guard lock(root_->mutex);
        flattened = root_->flattened;
    }
    Names possible = names_;
    for (const auto& [name, layout] : flattened) possible.push_back(name);

    std::vector<Layout> dims;
    for (const std::string& name : names) {
        const auto own = std::find(names_.begin(), names_.end(), name);
        const auto flat =
            std::find_if(flattened.begin(), flattened.end(), [&](const auto& f) { return f.first == name; });
        if (own != names_.end()) {
            dims.push_back(layouts_[static_cast<size_t>(own - names_.begin())]);
        } else if (flat != flattened.end()) {
            dims.push_back(flat->second);
        } else {
            refuse("mesh.unknown_name",
                   {{"asked", asked},
                    {"name", python_repr(name)},
                    {"possible", python_list(possible)},
                    {"mesh", repr()}},
                   {"KeyError", "Invalid mesh_dim_names " + asked + " specified. Valid mesh_dim_names are " +
                                    python_list(possible) + "."});
        }
    }
    const Layout whole = collapse(dims);
    if (!whole.check_sorted())
        refuse(can_be_sorted(dims) ? "mesh.names_out_of_order" : "mesh.names_have_no_order",
               {{"asked", asked}, {"possible", python_tuple(in_mesh_order(names, dims))}, {"mesh", repr()}},
               {"KeyError", "Invalid mesh_dim_names " + asked +
                                " specified. Mesh dim indices should be in ascending order."});
    if (!whole.check_orthogonal())
        refuse("mesh.names_overlap",
               {{"asked", asked}, {"possible", python_list(possible)}, {"mesh", repr()}},
               {"RuntimeError", "Slicing overlapping dim_names " + asked + " is not allowed."});
    return {root_, std::move(dims), names};
}

void DeviceMesh::refuse_index(const std::string& index, bool several) const {
    if (names_.empty())
        refuse("mesh.unnamed", {{"asked", index}, {"mesh", repr()}},
               {"RuntimeError", "Cannot slice a DeviceMesh without mesh_dim_names!"});
    Names names = names_;
    if (is_root()) {
        const std::lock_guard lock(root_->mutex);
        for (const auto& [name, layout] : root_->flattened) names.push_back(name);
    }
    const std::string possible = python_list(names);
    refuse("mesh.index_not_names", {{"asked", index}, {"possible", possible}, {"mesh", repr()}},
           several ? PyTorchError{"KeyError", "Invalid mesh_dim_names " + index +
                                                  " specified. Valid mesh_dim_names are " + possible + "."}
                   : PyTorchError{"TypeError", "'int' object is not iterable"});
}

std::optional<DeviceMesh> DeviceMesh::flattened(const std::string& name) const {
    const std::lock_guard lock(root_->mutex);
    const auto found = std::find_if(root_->flattened.begin(), root_->flattened.end(),
                                    [&](const auto& made) { return made.first == name; });
    if (found == root_->flattened.end()) return std::nullopt;
    return DeviceMesh(root_, {found->second}, {name});
}

DeviceMesh DeviceMesh::flatten(const std::string& new_name) const {
    if (names_.empty())
        refuse("mesh.unnamed", {{"asked", std::string("_flatten")}, {"mesh", repr()}},
               {"RuntimeError", "Cannot flatten a DeviceMesh without mesh_dim_names!"});
    std::string name = new_name;
    for (size_t i = 0; new_name.empty() && i < names_.size(); ++i) name += (i == 0 ? "" : "_") + names_[i];

    if (ndim() == 1 && name == names_[0]) {
        DeviceMesh same = *this;
        same.cost_ = {};
        return same;
    }
    if (std::find(root_->names.begin(), root_->names.end(), name) != root_->names.end()) {
        const std::string root = repr_text(root_->names, root_->layouts);
        refuse(
            "mesh.flatten_name_is_dim",
            {{"asked", name}, {"possible", python_tuple(root_->names)}, {"mesh", root}},
            {"ValueError",
             "(" + python_repr(name + " already exists for submesh of the " + root + ". ") + ", " +
                 python_repr("The mesh_dim_names of submesh and flattened mesh are " +
                             python_tuple(root_->names) + ". Please specify another valid mesh_dim_name.") +
                 ")"});
    }
    DeviceMesh flat(root_, {collapse(layouts_)}, {name});
    const std::lock_guard lock(root_->mutex);
    const auto found = std::find_if(root_->flattened.begin(), root_->flattened.end(),
                                    [&](const auto& made) { return made.first == name; });
    if (found == root_->flattened.end()) {
        root_->flattened.emplace_back(name, flat.layouts_[0]);
        flat.cost_ = cost_of(flat.layouts_);
    } else if (found->second != flat.layouts_[0]) {
        refuse("mesh.flatten_name_taken",
               {{"asked", name},
                {"taken_by", found->second.to_text()},
                {"layout", flat.layouts_[0].to_text()},
                {"mesh", repr()}},
               {"ValueError", "Flatten mesh with mesh_dim_name " + name +
                                  " has been created before, Please specify another valid mesh_dim_name."});
    }
    return flat;
}

DeviceMesh DeviceMesh::unflatten(const std::string& mesh_dim, Shape sizes, Names names) const {
    if (names_.empty())
        refuse("mesh.unnamed", {{"asked", mesh_dim}, {"mesh", repr()}}, {"TypeError", kNoneText});
    const auto found = std::find(names_.begin(), names_.end(), mesh_dim);
    if (found == names_.end())
        refuse("mesh.no_such_dim",
               {{"asked", mesh_dim}, {"possible", python_tuple(names_)}, {"mesh", repr()}},
               {"ValueError",
                "dim " + mesh_dim + " specified in `_unflatten` is not in " + python_tuple(names_)});
    return unflatten(found - names_.begin(), std::move(sizes), std::move(names));
}

DeviceMesh DeviceMesh::unflatten(int64_t mesh_dim, Shape sizes, Names names) const {
    if (mesh_dim < 0 || mesh_dim >= ndim())
        refuse("mesh.dim_out_of_range", {{"asked", mesh_dim}, {"ndim", ndim()}, {"mesh", repr()}},
               mesh_dim < 0 ? below_zero(shape_, mesh_dim, sizes)
                            : PyTorchError{"ValueError", "dim " + std::to_string(mesh_dim) +
                                                             " specified in `_unflatten` is out of range " +
                                                             std::to_string(ndim())});
    const auto at = static_cast<size_t>(mesh_dim);
    if (sizes.size() != names.size())
        refuse("mesh.unflatten_names",
               {{"names", static_cast<int64_t>(names.size())},
                {"sizes", static_cast<int64_t>(sizes.size())},
                {"asked", python_tuple(names)},
                {"mesh", repr()}},
               {"RuntimeError", "mesh_dim_names must have same length as mesh_sizes in _unflatten!"});
    const int64_t product = saturating_product(sizes);
    const bool positive = std::ranges::all_of(sizes, [](int64_t size) { return size >= 1; });
    if (product != shape_[at] || !positive || sizes.empty()) {
        const std::string text = wrong_product(sizes, mesh_dim, shape_[at]);
        PyTorchError pytorch{"ValueError", text};
        if (product == shape_[at])
            pytorch = sizes.empty() ? PyTorchError{"IndexError", "tuple index out of range"}
                                    : PyTorchError{"RuntimeError", "invalid shape dimension"};
        refuse("mesh.unflatten_product",
               {{"asked", python_tuple(sizes)},
                {"product", python_product(sizes)},
                {"mesh_dim", mesh_dim},
                {"size", shape_[at]},
                {"mesh", repr()}},
               pytorch);
    }
    std::vector<Layout> parts;
    for (const Layout& part : row_major(sizes)) {
        try {
            parts.push_back(layouts_[at].composition(part));
        } catch (const InvalidArgument&) {
            refuse("mesh.unflatten_cuts_across",
                   {{"asked", python_tuple(sizes)},
                    {"layout", layouts_[at].to_text()},
                    {"mesh_dim", mesh_dim},
                    {"mesh", repr()}},
                   {"AssertionError", ""});
        }
    }
    if (names_.empty())
        refuse("mesh.unnamed", {{"asked", std::string("_unflatten")}, {"mesh", repr()}},
               {"TypeError", kNoneText});

    const auto here = static_cast<std::ptrdiff_t>(at);
    std::vector<Layout> dims = layouts_;
    dims.erase(dims.begin() + here);
    dims.insert(dims.begin() + here, parts.begin(), parts.end());
    Names all_names = names_;
    all_names.erase(all_names.begin() + here);
    all_names.insert(all_names.begin() + here, names.begin(), names.end());
    check_no_overlap(dims);
    DeviceMesh mesh(root_, std::move(dims), std::move(all_names));
    mesh.cost_ = cost_of(parts);
    return mesh;
}

DeviceMesh DeviceMesh::concatenate(const std::vector<DeviceMesh>& meshes) {
    if (meshes.empty()) refuse("mesh.concatenate_nothing", {}, {"IndexError", "list index out of range"});
    const Root& root = *meshes.front().root_;
    std::vector<Layout> dims;
    Names names;
    std::string all;
    for (const DeviceMesh& mesh : meshes) {
        if (mesh.names_.empty())
            refuse("mesh.unnamed", {{"asked", std::string("_concatenate")}, {"mesh", mesh.repr()}},
                   {"TypeError", kNoneText});
        if (mesh.root_->size != root.size || mesh.root_->table != root.table)
            refuse("mesh.concatenate_other", {{"asked", mesh.repr()}, {"mesh", meshes.front().repr()}},
                   {"RuntimeError", "Cannot concatenate DeviceMeshes derived from different device meshes"});
        dims.insert(dims.end(), mesh.layouts_.begin(), mesh.layouts_.end());
        names.insert(names.end(), mesh.names_.begin(), mesh.names_.end());
        all += (all.empty() ? "" : ", ") + mesh.repr();
    }
    if (!collapse(dims).check_orthogonal())
        refuse("mesh.concatenate_overlap",
               {{"asked", "[" + all + "]"}, {"mesh", repr_text(root.names, root.layouts)}},
               {"RuntimeError", "Cannot concatenate overlapping meshes: [" + all + "]"});
    return {meshes.front().root_, std::move(dims), std::move(names)};
}

}  // namespace meshscope::mesh
