#include "core/run/groups.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/joined.h"
#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"
#include "core/parallel/model_declaration.h"
#include "core/parallel/pipeline/schedule.h"
#include "core/parallel/tensor/placement.h"

namespace meshscope::run {

namespace {

/// Appends the groups of dim `d` of a mesh or of a view of it; returns their indices.
std::vector<int32_t> append(GroupTable& table, const mesh::DeviceMesh& mesh, int64_t d,
                            const std::string& name) {
    std::vector<int32_t> indices;
    for (const std::vector<int64_t>& members : mesh.all_groups(d)) {
        indices.push_back(static_cast<int32_t>(table.groups.size()));
        table.groups.push_back({name, {members.begin(), members.end()}});
    }
    return indices;
}

/// Adds the groups of `size` neighbours of each of these groups, and their indices to `indices`.
void add_parts(GroupTable& table, const std::vector<int32_t>& wholes, int64_t size,
               std::vector<int32_t>& indices) {
    const auto each = static_cast<std::size_t>(size);
    for (const int32_t whole : wholes) {
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

/// Adds the groups of first and last stage of each pipeline.
void add_embedding(GroupTable& table, const std::vector<int32_t>& pipelines,
                   const parallel::pipeline::ScheduleShape& shape) {
    const std::vector<int32_t> rank_of_stage = parallel::pipeline::rank_of_stage(shape);
    const auto first = static_cast<std::size_t>(rank_of_stage.front());
    const auto last = static_cast<std::size_t>(rank_of_stage.back());
    if (first == last) return;
    for (const int32_t pipeline : pipelines) {
        const std::vector<int32_t> ranks = table.groups[static_cast<std::size_t>(pipeline)].ranks;
        table.embedding.push_back(static_cast<int32_t>(table.groups.size()));
        table.groups.push_back({"embedding", {ranks[first], ranks[last]}});
    }
}

/// "[0, 2]"
std::string list_of(const std::vector<int32_t>& ranks) {
    return "[" + joined_numbers(ranks) + "]";
}

/// The groups of one plain call, made where there are none yet.
std::vector<int32_t> groups_of_call(GroupTable& table, const scenario::Call& call,
                                    const std::vector<std::string>& mesh_names) {
    if (!call.mesh_dim.empty()) {
        const auto dim = std::ranges::find(mesh_names, call.mesh_dim) - mesh_names.begin();
        return table.by_dim.at(static_cast<std::size_t>(dim));
    }
    const trace::Group& all = table.groups.at(static_cast<std::size_t>(table.whole_mesh));
    if (call.group_ranks.empty() || call.group_ranks == all.ranks) return {table.whole_mesh};
    const std::string name = list_of(call.group_ranks);
    for (std::size_t g = 0; g < table.groups.size(); ++g)
        if (table.groups[g].mesh_dim == name) return {static_cast<int32_t>(g)};
    table.groups.push_back({name, call.group_ranks});
    return {static_cast<int32_t>(table.groups.size() - 1)};
}

}  // namespace

DataDims data_dims(const scenario::Scenario& scenario) {
    const mesh::Roles roles = mesh::roles_of(scenario.mesh_names);
    DataDims dims;
    for (const std::size_t d : roles.data) dims.push_back({d});
    std::vector<std::size_t> joined;
    for (const std::size_t d : roles.model)
        if (!parallel::model_declaration(*mesh::role_of(scenario.mesh_names[d]))->cuts_parameters)
            joined.push_back(d);
    if (joined.empty()) return dims;
    if (dims.empty() || !parallel::declaration(scenario.parallel.data).data_parallel) return {joined};
    dims.back().insert(dims.back().end(), joined.begin(), joined.end());
    std::ranges::sort(dims.back());
    return dims;
}

int32_t GroupTable::of(GlobalRank rank, const std::vector<int32_t>& indices) const {
    for (const int32_t index : indices)
        if (std::ranges::binary_search(groups[static_cast<std::size_t>(index)].ranks, rank.value))
            return index;
    throw InvalidArgument({"run.rank_outside_mesh", {{"rank", int64_t{rank.value}}}});
}

GroupTable make_groups(const mesh::DeviceMesh& mesh, int32_t world_size, const DataDims& data, bool with_mesh,
                       const std::vector<int64_t>& shard_parts) {
    GroupTable table;
    trace::Group world{"world", {}};
    for (int32_t r = 0; r < world_size; ++r) world.ranks.push_back(r);
    table.groups.push_back(std::move(world));
    for (int64_t d = 0; d < mesh.ndim(); ++d) {
        const std::string name =
            mesh.names().empty() ? "dim " + std::to_string(d) : mesh.names()[static_cast<std::size_t>(d)];
        table.by_dim.push_back(append(table, mesh, d, name));
    }
    for (const std::vector<std::size_t>& dims : data) {
        if (dims.size() == 1) {
            table.data.push_back(table.by_dim.at(dims[0]));
            continue;
        }
        mesh::Names names;
        for (const std::size_t d : dims) names.push_back(mesh.names().at(d));
        const mesh::DeviceMesh flat = mesh.slice(names).flatten();
        table.data.push_back(append(table, flat, 0, flat.names()[0]));
    }
    if (with_mesh && mesh.size() < world_size) {
        table.whole_mesh = static_cast<int32_t>(table.groups.size());
        trace::Group& all = table.groups.emplace_back(trace::Group{"mesh", {}});
        for (const int64_t rank : mesh.ranks(GlobalRank{0})) all.ranks.push_back(static_cast<int32_t>(rank));
        std::ranges::sort(all.ranks);
    }
    for (const int64_t size : shard_parts) add_parts(table, table.data.back(), size, table.shard_parts[size]);
    return table;
}

GroupTable groups_of(const scenario::Scenario& scenario, const mesh::DeviceMesh& mesh, bool with_mesh) {
    GroupTable table =
        make_groups(mesh, scenario::world_size(scenario), data_dims(scenario),
                    with_mesh || !scenario.calls.empty(), parallel::part_sizes(scenario.parallel.fsdp2));
    if (const auto tp = mesh::roles_of(scenario.mesh_names).of(mesh::Role::tp);
        tp && scenario.model.kind == "llama")
        if (const int64_t copies = parallel::kv_copies(scenario.model.kv_heads, scenario.mesh_shape[*tp]);
            copies > 1)
            add_parts(table, table.by_dim[*tp], copies, table.tp_parts[copies]);
    if (const auto& shape = scenario.parallel.pipeline.shape; shape && scenario.model.tied)
        add_embedding(table, table.by_dim[*mesh::roles_of(scenario.mesh_names).of(mesh::Role::pp)], *shape);
    for (const scenario::Call& call : scenario.calls)
        table.calls.push_back(groups_of_call(table, call, mesh.names()));
    return table;
}

}  // namespace meshscope::run
