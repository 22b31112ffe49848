#include "core/run/groups.h"

#include <algorithm>

#include "core/base/error.h"

namespace meshscope::run {

int32_t GroupTable::of(GlobalRank rank, std::size_t mesh_dim) const {
    for (const int32_t index : by_dim.at(mesh_dim))
        if (std::ranges::binary_search(groups[static_cast<std::size_t>(index)].ranks, rank.value))
            return index;
    throw InvalidArgument({"run.rank_outside_mesh", {{"rank", int64_t{rank.value}}}});
}

GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size, bool with_mesh) {
    GroupTable table;
    trace::Group world{"world", {}};
    for (int32_t r = 0; r < world_size; ++r) world.ranks.push_back(r);
    table.groups.push_back(std::move(world));
    for (int64_t d = 0; d < mesh.ndim(); ++d) {
        const std::string name =
            mesh.names().empty() ? "dim " + std::to_string(d) : mesh.names()[static_cast<std::size_t>(d)];
        auto& indices = table.by_dim.emplace_back();
        for (const std::vector<int64_t>& members : mesh.all_groups(d)) {
            indices.push_back(static_cast<int32_t>(table.groups.size()));
            table.groups.push_back({name, {members.begin(), members.end()}});
        }
    }
    if (with_mesh && mesh.size() < world_size) {
        table.whole_mesh = static_cast<int32_t>(table.groups.size());
        trace::Group& all = table.groups.emplace_back(trace::Group{"mesh", {}});
        for (const int64_t rank : mesh.ranks(GlobalRank{0})) all.ranks.push_back(static_cast<int32_t>(rank));
        std::ranges::sort(all.ranks);
    }
    return table;
}

}  // namespace meshscope::run
