#include "core/run/groups.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/mesh/roles.h"

namespace meshscope::run {

namespace {

int32_t find_group(const GroupTable& table, const std::vector<int32_t>& indices, GlobalRank rank) {
    for (const int32_t index : indices)
        if (std::ranges::binary_search(table.groups[static_cast<std::size_t>(index)].ranks, rank.value))
            return index;
    throw InvalidArgument({"run.rank_outside_mesh", {{"rank", int64_t{rank.value}}}});
}

/// Adds the groups of `size` neighbours of every group of `mesh_dim`.
void add_shard_parts(GroupTable& table, std::size_t mesh_dim, int64_t size) {
    std::vector<int32_t>& indices = table.shard_parts[size];
    const auto each = static_cast<std::size_t>(size);
    for (const int32_t whole : table.by_dim.at(mesh_dim)) {
        const std::vector<int32_t> ranks = table.groups[static_cast<std::size_t>(whole)].ranks;
        const std::string name = table.groups[static_cast<std::size_t>(whole)].mesh_dim;
        for (std::size_t first = 0; first + each <= ranks.size(); first += each) {
            indices.push_back(static_cast<int32_t>(table.groups.size()));
            const auto begin = ranks.begin() + static_cast<std::ptrdiff_t>(first);
            table.groups.push_back(
                {name + "/" + std::to_string(size), {begin, begin + static_cast<std::ptrdiff_t>(each)}});
        }
    }
}

}  // namespace

int32_t GroupTable::of(GlobalRank rank, std::size_t mesh_dim) const {
    return find_group(*this, by_dim.at(mesh_dim), rank);
}

int32_t GroupTable::part_of(GlobalRank rank, int64_t size) const {
    return find_group(*this, shard_parts.at(size), rank);
}

GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size, bool with_mesh,
                       const std::vector<int64_t>& shard_parts) {
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
    for (const int64_t size : shard_parts)
        for (std::size_t d = 0; d < mesh.names().size(); ++d)
            if (mesh::role_of(mesh.names()[d]) == mesh::Role::shard) add_shard_parts(table, d, size);
    return table;
}

}  // namespace meshscope::run
