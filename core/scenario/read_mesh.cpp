#include <algorithm>
#include <string>

#include "core/base/joined.h"
#include "core/mesh/roles.h"
#include "core/scenario/readers.h"

namespace meshscope::scenario {
namespace {

using Names = std::vector<std::string>;

bool is_name(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

std::string strategy_word(DataStrategy strategy) {
    return std::string(parallel::declaration(strategy).word);
}

/// The names of the dims that are no tensor, pipeline or context parallelism: what the data strategy gets.
Names data_names(const Names& names) {
    Names data;
    for (const std::string& name : names) {
        const std::optional<mesh::Role> role = mesh::role_of(name);
        if (!role || mesh::is_data(*role)) data.push_back(name);
    }
    return data;
}

/// The data dims a strategy works on, by name; empty: any.
Names dims_of(DataStrategy strategy, std::size_t ndim) {
    switch (parallel::declaration(strategy).dims) {
        case parallel::DataDims::any:
            return {};
        case parallel::DataDims::replicate:
            return {"replicate"};
        case parallel::DataDims::shard:
            return {"shard"};
        case parallel::DataDims::shard_maybe_replicate:
            break;
    }
    return ndim == 2 ? Names{"replicate", "shard"} : Names{"shard"};
}

void check_names(const Section& mesh, const Names& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto refuse = [&](const char* id) {
            mesh.doubt("names");
            mesh.report_element("names", i, {id, {{"name", names[i]}}});
        };
        if (!is_name(names[i])) refuse("scenario.bad_name");
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i))
            refuse("scenario.name_twice");
    }
}

}  // namespace

MeshKeys read_mesh_keys(const Section& mesh) {
    const auto shape = mesh.integers("shape", {1, kMostRanks});
    const auto names = mesh.texts("names");
    if (names) check_names(mesh, *names);
    if (!shape) return {{}, names.value_or(Names{})};
    if (shape->empty() || shape->size() > 8) {
        mesh.report("shape", {"scenario.mesh_ndim", {{"ndim", static_cast<int64_t>(shape->size())}}});
        return {{}, names.value_or(Names{})};
    }
    int64_t ranks = 1;
    for (const int64_t size : *shape)
        ranks = std::min(ranks * size, kMostRanks + 1);  // stops before it overflows
    if (ranks > kMostRanks) {
        mesh.report("shape", {"scenario.mesh_too_large", {{"shape", *shape}, {"most", kMostRanks}}});
        return {{}, names.value_or(Names{})};
    }
    if (names && names->size() != shape->size())
        mesh.refuse("names", {"scenario.names_count",
                              {{"names", static_cast<int64_t>(names->size())},
                               {"dims", static_cast<int64_t>(shape->size())},
                               {"shape", *shape}}});
    return {*shape, names.value_or(Names{})};
}

bool read_mesh(const Section& mesh, bool strategy_known, Scenario& s) {
    const DataStrategy strategy = s.parallel.data;
    const MeshKeys given = read_mesh_keys(mesh);
    const auto world = mesh.integer("world", {1, kMostRanks});
    if (mesh.has("shape") && given.shape.empty()) return false;
    if (!given.shape.empty()) s.mesh_shape = given.shape;
    if (!mesh.has("shape") && mesh.has("names")) {
        mesh.require("shape");
        return false;
    }
    if (!mesh.sure("shape", "names")) return false;

    const std::size_t ndim = s.mesh_shape.size();
    const Names given_data = data_names(given.names);
    const std::size_t model_ndim = given.names.size() - given_data.size();
    const std::size_t data_ndim = ndim > model_ndim ? ndim - model_ndim : 0;
    const Names role = dims_of(strategy, data_ndim);
    if (!given.names.empty()) {
        s.mesh_names = given.names;
    } else if (role.size() == ndim) {
        s.mesh_names = role;
        // Which dim holds the replicas must be said: fully_shard takes no unnamed mesh of two dims either.
        if (ndim > 1 && !mesh.has("names"))
            mesh.report_offering(
                "shape",
                {"scenario.mesh_unnamed", {{"strategy", strategy_word(strategy)}, {"shape", s.mesh_shape}}},
                {{{{{"mesh.names", Names{"replicate", "shard"}}}}},
                 {{{{"mesh.shape", std::vector<int64_t>{s.mesh_shape[0] * s.mesh_shape[1]}}}}}});
    } else if (!mesh.has("names") && ndim > 1 && strategy_known &&
               !parallel::declaration(strategy).data_parallel) {
        mesh.require("names");
    }
    const bool wrong_names = !given.names.empty() && given.names.size() == ndim && given_data != role;
    if (!role.empty() && (wrong_names || role.size() != data_ndim))
        mesh.report(wrong_names ? "names" : "shape",
                    {"scenario.mesh_dims",
                     {{"strategy", strategy_word(strategy)},
                      {"found", wrong_names ? joined(given.names) : std::to_string(ndim) + "-D"}}},
                    {std::string(parallel::declaration(strategy).dims_hint), {}});

    int64_t ranks = 1;
    for (const int64_t size : s.mesh_shape) ranks *= size;
    if (world && *world < ranks) {
        mesh.report_offering("world",
                             {"scenario.mesh_larger_than_world",
                              {{"shape", s.mesh_shape}, {"needed", ranks}, {"world", *world}}},
                             {{{{{"mesh.world", ranks}}}}});
    } else {
        s.world_size = world;
    }
    // Without the strategy nobody knows the names that were left out.
    return strategy_known || mesh.has("names") || ndim == 1;
}

}  // namespace meshscope::scenario
