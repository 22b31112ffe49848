#include "core/scenario/readers.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string>

#include "core/data/sampler.h"
#include "core/mesh/roles.h"
#include "core/parallel/units.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {
namespace {

using Names = std::vector<std::string>;

bool is_name(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

std::string join_names(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
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

/// Reads shape, names and world; false when the shape cannot be used for further checks.
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
                      {"found", wrong_names ? join_names(given.names) : std::to_string(ndim) + "-D"}}},
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

/// DataParallel is one process with several devices: nothing else can share it.
void check_one_process(const Section& root, const Section& parallel, const Scenario& s) {
    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    if (roles.tp || roles.pp || roles.cp) parallel.report("data", {"scenario.dp_one_process", {}});
    const Section data = root.section("data");
    if (s.data_sampler) data.report("sampler", {"scenario.dp_sampler", {}});
}

/// micro_batch × accumulate (of a pipeline: microbatches) × ranks must be the global batch, where the file
/// says all of them.
void check_micro_batch(const Section& train, const Scenario& s, int64_t ranks, int64_t microbatches) {
    if (!s.micro_batch || *s.micro_batch * ranks * microbatches == s.global_batch) return;
    const int64_t product = *s.micro_batch * ranks * microbatches;
    const int64_t parts = std::max<int64_t>(1, s.global_batch / (*s.micro_batch * ranks));
    train.report_offering("micro_batch",
                          {"scenario.micro_batch",
                           {{"batch", s.global_batch},
                            {"micro", *s.micro_batch},
                            {"accumulate", microbatches},
                            {"ranks", ranks},
                            {"product", product}}},
                          {{{{{"train.micro_batch", s.global_batch / (ranks * microbatches)}}}},
                           {{{{s.parallel.pipeline ? "parallel.microbatches" : "train.accumulate", parts}}}},
                           {{{{"train.global_batch", product}}}}});
}

/// An epoch must end with a whole batch: all steps have equally many samples.
void check_sampler(const Section& root, const Section& train, const Scenario& s, int64_t ranks) {
    if (!root.section("data").sure("sampler", "samples", "drop_last", "file")) return;
    if (!s.data_sampler || s.data_samples < 1 || !s.data_file.empty()) return;
    const data::DistributedSampler sampler({.samples = s.data_samples,
                                            .world_size = ranks,
                                            .shuffle = false,
                                            .seed = 0,
                                            .drop_last = s.data_drop_last});
    const int64_t rows = s.global_batch / ranks, each = sampler.samples_per_rank();
    if (s.data_drop_last ? each >= rows : each % rows == 0) return;
    std::vector<Offer> offers =
        offers_around("data.samples", s.data_samples, rows * ranks, std::numeric_limits<int32_t>::max());
    offers.push_back({{{{"data.drop_last", true}}}});
    train.report_offering("global_batch",
                          {"scenario.sampler_short_batch",
                           {{"samples", s.data_samples},
                            {"ranks", ranks},
                            {"each", each},
                            {"rows", rows},
                            {"left", each % rows}}},
                          std::move(offers));
}

void check_batch(const Section& root, const Section& parallel, const Section& train, const Scenario& s) {
    if (!train.has("global_batch") || !train.sure("global_batch", "accumulate")) return;
    if (!parallel.sure("schedule") || (parallel.has("schedule") && !s.parallel.pipeline)) return;
    const int64_t ranks = data_parallel_size(s);
    const int64_t microbatches = s.parallel.pipeline ? s.parallel.pipeline->microbatches : s.accumulate;
    const int64_t parts = ranks * microbatches;  // at most 2^12 · 2^31
    if (s.global_batch % parts == 0) {
        check_micro_batch(train, s, ranks, microbatches);
        check_sampler(root, train, s, ranks);
        return;
    }
    // A [train] micro_batch, too, must fit; and where the batch must stay, another number of micro-batches
    // may.
    std::vector<Offer> offers =
        offers_around("train.global_batch", s.global_batch, parts, std::numeric_limits<int32_t>::max());
    if (s.global_batch % ranks == 0)
        offers = joined(std::move(offers),
                        offers_around(s.parallel.pipeline ? "parallel.microbatches" : "train.accumulate",
                                      microbatches, 1, s.global_batch / ranks,
                                      [&](int64_t n) { return s.global_batch / ranks % n == 0; }));
    train.report_offering(
        "global_batch",
        {"scenario.batch_does_not_divide",
         {{"batch", s.global_batch}, {"ranks", ranks}, {"accumulate", microbatches}, {"parts", parts}}},
        std::move(offers));
}

/// One unit of [parallel] units: a module's name, or a list of them.
std::optional<Names> unit_names(const toml::node& node) {
    if (const auto* name = node.as_string()) return Names{name->get()};
    const toml::array* list = node.as_array();
    if (!list || list->empty()) return std::nullopt;
    Names names;
    for (const toml::node& element : *list) {
        if (!element.is_string()) return std::nullopt;
        names.push_back(element.value_or(std::string()));
    }
    return names;
}

/// What to say of the modules a model has.
std::string modules_hint(const std::string& kind) {
    if (kind == "toy") return "scenario.hint.toy_modules";
    return kind == "mlp" ? "scenario.hint.mlp_modules" : "scenario.hint.transformer_modules";
}

/// fully_shard drops from its list what lies inside another module of it; said in one unit, both are a
/// mistake.
void check_nested(const Section& parallel, std::size_t at, const Names& unit) {
    for (const std::string& inner : unit)
        for (const std::string& outer : unit)
            if (inner.starts_with(outer + "."))
                parallel.report_element("units", at,
                                        {"scenario.nested_unit", {{"inner", inner}, {"outer", outer}}},
                                        {"scenario.hint.nested_unit", {{"inner", inner}, {"outer", outer}}});
}

void read_units(const Section& parallel, Scenario& s) {
    const toml::node* node = parallel.node("units");
    if (!node) return;
    const toml::array* list = node->as_array();
    if (!list) {
        parallel.wrong_type("units", "array of strings or of arrays of strings", *node);
        return;
    }
    const std::unique_ptr<nn::Model> model = nn::make_model(s.model);
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::optional<Names> unit = unit_names(*list->get(i));
        if (!unit) {
            parallel.report_element("units", i, {"scenario.bad_unit", {}});
            continue;
        }
        for (const std::string& name : *unit) {
            if (name.empty() || !model->find(name)) {
                parallel.report_element("units", i,
                                        {"scenario.unknown_module", {{"name", name}, {"kind", s.model.kind}}},
                                        {modules_hint(s.model.kind), {{"last", s.model.layers - 1}}});
            } else if (!seen.emplace(name, i).second) {
                parallel.report_element("units", i, {"scenario.module_twice", {{"name", name}}});
            }
        }
        check_nested(parallel, i, *unit);
        s.parallel.units.push_back(*unit);
    }
    try {
        parallel::plan_units(*model, s.parallel.units);
    } catch (const InvalidArgument& error) {
        if (error.message().id == "parallel.shared_parameter") parallel.report("units", error.message());
    }
}

void read_algorithm(const Section& parallel, Scenario& s) {
    const toml::node* const named = parallel.node("algorithm");
    if (named != nullptr && names_algorithm_file(named->value_or(std::string_view())))
        return read_own_algorithm(parallel, s);
    if (const auto word = parallel.word("algorithm", algorithms()))
        s.parallel.algorithm = *parse_algorithm(*word);
}

void read_parallel_options(const Section& parallel, Scenario& s) {
    read_strategy_keys(parallel, s);
    read_algorithm(parallel, s);
    if (model_is_known(s)) read_units(parallel, s);
}

/// The strategy's word. A hybrid word is none, as in PyTorch.
std::optional<std::string> read_strategy(const Section& parallel) {
    const toml::node* const node = parallel.node("data");
    const std::string word = node ? node->value_or(std::string()) : std::string();
    std::string lower = word;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    const parallel::Declaration* const named = parallel::find_declaration(lower);
    if (named == nullptr || named->hybrid_word != lower) return parallel.word("data", data_strategies());
    parallel.refuse("data", {"scenario.unknown_word", {{"key", parallel.full("data")}, {"word", word}}},
                    {"scenario.hint.hsdp", {}});
    return std::nullopt;
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

bool read_mesh_and_parallel(const Section& root, const Section& model, const Section& train, Scenario& s) {
    const Section parallel = root.section("parallel");
    const std::optional<std::string> strategy = read_strategy(parallel);
    const bool strategy_known = parallel.sure("data");
    if (strategy) {
        const auto found = std::find(data_strategies().begin(), data_strategies().end(), *strategy);
        s.parallel.data = static_cast<DataStrategy>(found - data_strategies().begin());
    }
    const Section mesh = root.section("mesh");
    const bool mesh_known = read_mesh(mesh, strategy_known, s) && (mesh.present() || !root.has("mesh"));
    read_parallel_options(parallel, s);
    read_sharding(parallel, mesh_known && strategy_known, s);
    read_ddp(root, parallel, mesh_known, s);
    read_fsdp2(parallel, mesh_known, s);
    if (mesh_known && strategy_known) read_pipeline(parallel, mesh, model, train, s);
    // What a key is for, and into how many parts a batch is cut, depends on the strategy.
    if (strategy_known) refuse_strategy(root, parallel, mesh_known, s);
    if (mesh_known && parallel::declaration(s.parallel.data).one_process)
        check_one_process(root, parallel, s);
    if (mesh_known) read_tensor_parallel(parallel, model, s);
    if (mesh_known) read_context_parallel(parallel, mesh, model, s);
    if (mesh_known && strategy_known) check_batch(root, parallel, train, s);
    read_recompute(train, parallel, s);
    return mesh_known;
}

bool read_mesh_and_algorithm(const Section& root, Scenario& s) {
    const Section parallel = root.section("parallel");
    read_algorithm(parallel, s);
    for (const Key& key : keys_of("parallel"))
        if (key.name != "algorithm" && parallel.has(key.name))
            parallel.report_key(key.name, {"scenario.keys_exclude",
                                           {{"key", parallel.full(key.name)}, {"other", "[[call]]"}}});
    const Section mesh = root.section("mesh");
    return read_mesh(mesh, true, s) && (mesh.present() || !root.has("mesh"));
}

}  // namespace meshscope::scenario
