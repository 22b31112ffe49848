#include "core/scenario/readers.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <string>

#include "core/base/cause.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/data/sampler.h"
#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"
#include "core/scenario/given_files.h"
#include "core/scenario/keys.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

/// DataParallel is one process with several devices: nothing else can share it.
void check_one_process(const Section& root, const Section& parallel, const Scenario& s) {
    if (!mesh::roles_of(s.mesh_names).model.empty()) parallel.report("data", {"scenario.dp_one_process", {}});
    const Section data = root.section("data");
    if (s.data_sampler) data.report("sampler", {"scenario.dp_sampler", {}});
}

/// micro_batch × accumulate (of a pipeline: microbatches) × ranks must be the global batch, where the file
/// says all of them.
void check_micro_batch(const Section& train, const Scenario& s, int64_t ranks, int64_t microbatches) {
    if (!s.micro_batch || *s.micro_batch * ranks * microbatches == s.global_batch) return;
    const int64_t product = *s.micro_batch * ranks * microbatches;
    const int64_t parts = std::max<int64_t>(1, s.global_batch / (*s.micro_batch * ranks));
    train.report_offering(
        "micro_batch",
        {"scenario.micro_batch",
         {{"batch", s.global_batch},
          {"micro", *s.micro_batch},
          {"accumulate", microbatches},
          {"ranks", ranks},
          {"product", product}}},
        {{{{{"train.micro_batch", s.global_batch / (ranks * microbatches)}}}},
         {{{{s.parallel.pipeline.shape ? "parallel.microbatches" : "train.accumulate", parts}}}},
         {{{{"train.global_batch", product}}}}});
}

/// [data] batches: one number a data-parallel rank, and some rank has one for every step.
void read_batches(const Section& root, const Section& parallel, bool mesh_known, Scenario& s) {
    const Section data = root.section("data");
    const bool steps_known = root.section("train").sure("steps");
    const auto batches =
        data.integers("batches", {0, steps_known ? s.steps : std::numeric_limits<int32_t>::max()});
    if (!batches || !parallel.sure("join", "data")) return;
    if (!parallel::declaration(s.parallel.data).is(&parallel::Declaration::uneven_inputs, s.parallel)) {
        data.report_key("batches", {"scenario.batches_without_join", {}});
        return;
    }
    if (s.data_sampler) data.report_key("batches", {"scenario.batches_sampler", {}});
    const int64_t ranks = data_parallel_size(s);
    if (mesh_known && static_cast<int64_t>(batches->size()) != ranks) {
        data.report("batches", {"scenario.batches_count",
                                {{"found", static_cast<int64_t>(batches->size())}, {"ranks", ranks}}});
        return;
    }
    if (batches->empty() || (steps_known && *std::ranges::max_element(*batches) != s.steps)) {
        data.report("batches", {"scenario.batches_steps", {{"steps", int64_t{s.steps}}}});
        return;
    }
    s.data_batches = *batches;
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
    if (!parallel.sure("schedule") || (parallel.has("schedule") && !s.parallel.pipeline.shape)) return;
    const int64_t ranks = data_parallel_size(s);
    const int64_t microbatches =
        s.parallel.pipeline.shape ? s.parallel.pipeline.shape->microbatches : s.accumulate;
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
        offers = joined_offers(
            std::move(offers),
            offers_around(s.parallel.pipeline.shape ? "parallel.microbatches" : "train.accumulate",
                          microbatches, 1, s.global_batch / ranks,
                          [&](int64_t n) { return s.global_batch / ranks % n == 0; }));
    train.report_offering(
        "global_batch",
        {"scenario.batch_does_not_divide",
         {{"batch", s.global_batch}, {"ranks", ranks}, {"accumulate", microbatches}, {"parts", parts}}},
        std::move(offers));
}

/// The file, read; null and reported where it cannot be.
std::shared_ptr<const comm::OwnAlgorithm> read(const Section& parallel, const std::string& path) {
    try {
        return comm::OwnAlgorithm::read(path);
    } catch (const InputError& error) {
        for (const Diagnostic& each : error.diagnostics()) parallel.report_at(each);
    } catch (const IoError& error) {
        parallel.report("algorithm", error.message());
    }
    return nullptr;
}

enum class Proof : uint8_t { none, other_ranks, proved };

/// Whether it is for so many ranks, and proved for them; what is wrong is reported.
Proof proof_of(const Section& parallel, const comm::OwnAlgorithm& algorithm, int32_t ranks) {
    try {
        if (!algorithm.fits(ranks)) return Proof::other_ranks;
        algorithm.proved(ranks);
        return Proof::proved;
    } catch (const InputError& error) {
        for (const Diagnostic& each : error.diagnostics()) parallel.report_at(each);
    }
    return Proof::none;
}

/// The file that [parallel] algorithm names, from the scenario's folder, proved for each dim of the mesh that
/// it is for; what is wrong is reported at the line of the algorithm's own file. Needs s.mesh_shape.
void read_own_algorithm(const Section& parallel, Scenario& s) {
    const std::string path = existing_file(parallel, "algorithm", s.folder);
    if (path.empty()) return;
    const auto algorithm = read(parallel, path);
    if (!algorithm) return;
    std::set<int32_t> sizes;
    for (const int64_t size : s.mesh_shape)
        if (size > 1) sizes.insert(static_cast<int32_t>(size));
    bool fits_any = sizes.empty();
    for (const int32_t size : sizes) {
        const Proof proof = proof_of(parallel, *algorithm, size);
        if (proof == Proof::none) return;
        fits_any = fits_any || proof == Proof::proved;
    }
    if (!fits_any) {
        parallel.report("algorithm",
                        with_cause({"algorithm.no_group", {}}, algorithm->misfit(*sizes.rbegin())));
        return;
    }
    s.parallel.algorithm = Algorithm::own;
    s.parallel.own = algorithm;
}

void read_algorithm(const Section& parallel, Scenario& s) {
    const toml::node* const named = parallel.node("algorithm");
    if (named != nullptr && names_algorithm_file(named->value_or(std::string_view())))
        return read_own_algorithm(parallel, s);
    if (const auto word = parallel.word("algorithm", algorithms()))
        s.parallel.algorithm = *parse_algorithm(*word);
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

bool read_mesh_and_parallel(const Section& root, const Section& model, const Section& train, Scenario& s) {
    const Section parallel = root.section("parallel");
    const std::optional<std::string> strategy = read_strategy(parallel);
    const bool strategy_known = parallel.sure("data");
    if (strategy) s.parallel.data = parallel::find_declaration(*strategy)->id;
    const Section mesh = root.section("mesh");
    const bool mesh_known = read_mesh(mesh, strategy_known, s) && (mesh.present() || !root.has("mesh"));
    const Tables tables{parallel, mesh, model, train};
    read_strategy_keys(tables, mesh_known, s);
    read_algorithm(parallel, s);
    read_batches(root, parallel, mesh_known, s);
    if (mesh_known)
        read_model_declarations(tables, mesh_known, s, [&](const parallel::ModelDeclaration& each) {
            return each.role && (strategy_known || !each.asks_strategy);
        });
    // What a key is for, and into how many parts a batch is cut, depends on the strategy.
    if (strategy_known) refuse_strategy(root, tables, mesh_known, s);
    if (mesh_known && parallel::declaration(s.parallel.data).one_process)
        check_one_process(root, parallel, s);
    if (mesh_known && strategy_known) check_batch(root, parallel, train, s);
    read_model_declarations(tables, mesh_known, s,
                            [](const parallel::ModelDeclaration& each) { return !each.role; });
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
