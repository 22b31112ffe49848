#include "core/scenario/readers.h"

#include <algorithm>
#include <array>

#include "core/mesh/roles.h"
#include "core/parallel/units.h"
#include "core/scenario/keys.h"
#include "core/scenario/mesh_offers.h"

namespace meshscope::scenario {
namespace {

using parallel::BackwardPrefetch;

constexpr std::array<std::string_view, 3> kPrefetches{"none", "pre", "post"};
constexpr std::array<std::string_view, 2> kPrecisions{"float32", "bfloat16"};
constexpr std::array<std::string_view, 3> kReductions{"float32", "bfloat16", "float16"};
constexpr IntegerRange kPrefetchedUnits{1, 1 << 16};
constexpr std::array<std::string_view, 2> kWraps{"layers", "size"};

template <std::size_t N>
std::size_t place_of(const std::array<std::string_view, N>& words, const std::string& word) {
    return static_cast<std::size_t>(std::ranges::find(words, word) - words.begin());
}

/// A boolean for fsdp2 (and, meaning "pre" and "none", for fsdp1), or how many units; one of three words for
/// fsdp1.
void read_backward_prefetch(const Section& section, Scenario& s) {
    const toml::node* node = section.node("backward_prefetch");
    if (!node || !section.sure("data")) return;
    if (const auto* flag = node->as_boolean()) {
        s.parallel.fsdp2.backward_prefetch = flag->get();
        s.parallel.fsdp1.backward_prefetch = flag->get() ? BackwardPrefetch::pre : BackwardPrefetch::none;
    } else if (node->as_integer() && s.parallel.data == DataStrategy::fsdp2) {
        const auto units = section.integer("backward_prefetch", kPrefetchedUnits);
        s.parallel.fsdp2.backward_prefetch_units = static_cast<int32_t>(units.value_or(0));
    } else if (node->as_string()) {
        const auto word = section.word("backward_prefetch", kPrefetches);
        if (!word) return;
        s.parallel.fsdp1.backward_prefetch = static_cast<BackwardPrefetch>(place_of(kPrefetches, *word));
        if (s.parallel.data == DataStrategy::fsdp2)
            section.report("backward_prefetch", {"scenario.prefetch_word", {{"word", *word}}},
                           {"scenario.hint.known", {{"known", std::string("true, false, 1, 2 …")}}});
    } else {
        section.wrong_type("backward_prefetch", "boolean, integer or string", *node);
    }
}

/// How many units for fsdp2, a boolean for the others.
void read_forward_prefetch(const Section& section, Scenario& s) {
    if (!section.sure("data")) return;  // what the key may hold depends on it
    if (s.parallel.data == DataStrategy::fsdp2) {
        const auto units = section.integer("forward_prefetch", kPrefetchedUnits);
        s.parallel.fsdp2.forward_prefetch_units = static_cast<int32_t>(units.value_or(0));
    } else {
        s.parallel.fsdp1.forward_prefetch = section.boolean("forward_prefetch").value_or(false);
    }
}

/// The meshes of two data dims with as many ranks; of four where these cannot be cut in two.
Offer two_dim_meshes(const Scenario& s, int64_t ranks) {
    std::vector<std::vector<int64_t>> shapes;
    for (int64_t shard = 2; shard < ranks; ++shard)
        if (ranks % shard == 0) shapes.push_back({ranks / shard, shard});
    if (shapes.empty()) shapes.push_back({2, 2});
    Offer offer = offer_of_data_dims(s, shapes, {"replicate", "shard"});
    offer.wanted = 3;
    return offer;
}

/// The sizes of the dims that the data strategy works on, whatever stands between them.
std::vector<int64_t> data_sizes(const Scenario& s) {
    std::vector<int64_t> sizes;
    for (const std::size_t d : mesh::roles_of(s.mesh_names).data)
        if (d < s.mesh_shape.size())
            sizes.push_back(s.mesh_shape[d]);  // a wrong number of names was reported
    return sizes;
}

/// Hybrid sharding needs replicas and shards, the others one dim.
void check_dims(const Section& section, const Scenario& s) {
    if (s.parallel.data != DataStrategy::fsdp1 || !section.sure("sharding_strategy")) return;
    const std::vector<int64_t> sizes = data_sizes(s);
    const bool two = sizes.size() == 2;
    const bool hybrid = is_hybrid(s.parallel.fsdp1.strategy);
    const std::string strategy(name(s.parallel.fsdp1.strategy));
    int64_t ranks = 1;
    for (const int64_t n : sizes) ranks *= n;
    if (hybrid && !two) {
        section.report_offering(
            "sharding_strategy",
            {"scenario.hybrid_needs_two_dims", {{"strategy", strategy}, {"shape", s.mesh_shape}}},
            {two_dim_meshes(s, ranks), {{{{"parallel.sharding_strategy", std::string("full_shard")}}}}});
    } else if (hybrid && sizes[1] == 1) {
        section.report_offering(
            "sharding_strategy",
            {"scenario.hybrid_shard_of_one", {{"strategy", strategy}, {"shape", s.mesh_shape}}},
            {two_dim_meshes(s, ranks)});
    } else if (!hybrid && two) {
        section.report_offering(
            section.has("sharding_strategy") ? "sharding_strategy" : "data",
            {"scenario.flat_needs_one_dim", {{"strategy", strategy}, {"shape", s.mesh_shape}}},
            {offer_of_data_dims(s, {{ranks}}, {"shard"}),
             {{{{"parallel.sharding_strategy", std::string("hybrid_shard")}}}}});
    }
}

/// A module that becomes a unit by its size must not hold a parameter that another module shares.
void check_wrap(const Section& section, const Scenario& s) {
    const int64_t least = s.parallel.fsdp1.wrap_min_elements;
    if (least == 0 || !model_is_known(s)) return;
    const std::unique_ptr<nn::Model> model = nn::make_model(s.model);
    try {
        parallel::plan_units(*model, parallel::units_by_size(*model, least), parallel::NoUnits::root_only);
    } catch (const InvalidArgument& error) {
        // Only the embedding and the head share one.
        section.report_offering(
            "wrap_min_elements", error.message(),
            {{{{{"parallel.wrap_min_elements", s.model.vocab * s.model.dim + 1}}}},
             {{{{"parallel.wrap", std::string("layers")}, {"parallel.wrap_min_elements", {}}}}}});
    }
}

void read_wrap(const Section& section, Scenario& s) {
    parallel::Fsdp1Options& options = s.parallel.fsdp1;
    const auto wrap = section.word("wrap", kWraps);
    const auto least = section.integer("wrap_min_elements", {1, int64_t{1} << 40});
    if (wrap && section.has("units"))
        section.report_key("wrap", {"scenario.keys_exclude",
                                    {{"key", section.full("wrap")}, {"other", section.full("units")}}});
    if (wrap && *wrap == "size") {
        if (section.require("wrap_min_elements") && least) options.wrap_min_elements = *least;
        check_wrap(section, s);
    } else if (section.has("wrap_min_elements") && section.sure("wrap")) {
        section.report_key("wrap_min_elements", {"scenario.wrap_min_without_size", {}});
    }
}

/// The reductions' type when none is given: fsdp2 reduces in the parameters' own float32 (PyTorch 2.15),
/// fsdp1 in the type that is gathered.
void read_precision(const Section& section, bool mesh_known, Scenario& s) {
    const Section table = section.section("mixed_precision");
    parallel::MixedPrecision& precision = s.parallel.precision;
    if (const auto word = table.word("param", kPrecisions)) precision.param = *parse_dtype(*word);
    if (s.parallel.data == DataStrategy::fsdp1) precision.reduce = precision.param;
    if (const auto word = table.word("reduce", kReductions)) precision.reduce = *parse_dtype(*word);
    const std::vector<int64_t> sizes = data_sizes(s);
    const bool whole = s.parallel.fsdp1.strategy == parallel::ShardingStrategy::no_shard ||
                       (!sizes.empty() && sizes.back() == 1);
    if (s.parallel.data == DataStrategy::fsdp1 && table.present() && mesh_known && whole)
        section.report_key("mixed_precision", {"scenario.precision_needs_shards", {}});
    s.parallel.fsdp1.precision = precision;
}

}  // namespace

void read_sharding(const Section& section, bool mesh_known, Scenario& s) {
    read_backward_prefetch(section, s);
    read_forward_prefetch(section, s);
    read_wrap(section, s);
    read_precision(section, mesh_known, s);
    if (mesh_known) check_dims(section, s);
}

}  // namespace meshscope::scenario
