#include "core/parallel/declaration.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/mesh/mesh_offers.h"
#include "core/parallel/fsdp1/fsdp1.h"
#include "core/parallel/mixed_precision_key.h"
#include "core/parallel/unit_keys.h"
#include "core/parallel/units.h"

namespace meshscope::parallel {
namespace {

constexpr std::array<std::string_view, 5> kShardingStrategies{"full_shard", "shard_grad_op", "hybrid_shard",
                                                              "hybrid_shard_zero2", "no_shard"};

/// Reduces in the type that is gathered, unless told another.
constexpr StrategyKey kFsdp1PrecisionKeys[] = {
    {"param", "\"float32\"",
     StrategyKey::Word{kParamTypes,
                       [](StrategyOptions& o, std::size_t place) {
                           o.precision.param = o.precision.reduce = *parse_dtype(kParamTypes.at(place));
                       }}},
    {"reduce", "by strategy",
     StrategyKey::Word{kReduceTypes,
                       [](StrategyOptions& o, std::size_t place) {
                           o.precision.reduce = *parse_dtype(kReduceTypes.at(place));
                       }}},
};

constexpr StrategyKey kFsdp1Keys[] = {
    {"sharding_strategy", "\"full_shard\"",
     StrategyKey::Word{kShardingStrategies,
                       [](StrategyOptions& o, std::size_t place) {
                           o.fsdp1.strategy = static_cast<ShardingStrategy>(place);
                       }}},
    kBackwardPrefetchKey,
    kForwardPrefetchKey,
    {"limit_all_gathers", "true",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp1.limit_all_gathers = on; }}},
    {"use_orig_params", "true",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp1.use_orig_params = on; }}},
    kUnitsKey,
    {"mixed_precision", "(none)",
     StrategyKey::Table{[] { return std::span<const StrategyKey>(kFsdp1PrecisionKeys); }}},
    kWrapKey,
    kWrapMinElementsKey,
};

/// The meshes of two data dims with as many ranks; of four where these cannot be cut in two.
Offer two_dim_meshes(const StrategyUse& use, int64_t ranks) {
    std::vector<mesh::Shape> shapes;
    for (int64_t shard = 2; shard < ranks; ++shard)
        if (ranks % shard == 0) shapes.push_back({ranks / shard, shard});
    if (shapes.empty()) shapes.push_back({2, 2});
    Offer offer = mesh::offer_of_data_dims(use.shape, use.names, shapes, {"replicate", "shard"});
    offer.wanted = 3;
    return offer;
}

/// Hybrid sharding needs replicas and shards, the others one dim.
void refuse_dims(const StrategyOptions& options, const StrategyUse& use, std::vector<Refusal>& found) {
    if (!use.sure("sharding_strategy")) return;
    const mesh::Shape sizes = use.data_sizes();
    const bool two = sizes.size() == 2;
    const bool hybrid = is_hybrid(options.fsdp1.strategy);
    const auto ranks = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    const auto refuse = [&](const char* key, const char* id, std::vector<Offer> offers) {
        found.push_back(
            {.key = key,
             .message = {id, {{"strategy", std::string(name(options.fsdp1.strategy))}, {"shape", use.shape}}},
             .offers = std::move(offers)});
    };
    const auto instead = [](const char* strategy) {
        return Offer{{{{"parallel.sharding_strategy", std::string(strategy)}}}};
    };
    if (hybrid && !two)
        refuse("sharding_strategy", "scenario.hybrid_needs_two_dims",
               {two_dim_meshes(use, ranks), instead("full_shard")});
    else if (hybrid && sizes[1] == 1)
        refuse("sharding_strategy", "scenario.hybrid_shard_of_one", {two_dim_meshes(use, ranks)});
    else if (!hybrid && two)
        refuse(
            use.has("sharding_strategy") ? "sharding_strategy" : "data", "scenario.flat_needs_one_dim",
            {mesh::offer_of_data_dims(use.shape, use.names, {{ranks}}, {"shard"}), instead("hybrid_shard")});
}

/// PyTorch: "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`".
void refuse_mixed_units(const StrategyOptions& options, const StrategyUse& use, std::vector<Refusal>& found) {
    nn::Model* const model = options.fsdp1.use_orig_params ? nullptr : use.model();
    if (model == nullptr || !use.sure("use_orig_params") || !use.sure("units")) return;
    const bool by_size = options.units.empty() && options.unit_min_elements() > 0;
    try {
        for (const UnitPlan& plan :
             plan_units(*model, by_size ? units_by_size(*model, options.unit_min_elements()) : options.units,
                        by_size ? NoUnits::root_only : NoUnits::layers)) {
            const auto frozen =
                std::ranges::count_if(plan.parameters, [](const nn::Parameter* p) { return p->frozen; });
            if (frozen == 0 || frozen == std::ssize(plan.parameters)) continue;
            found.push_back({.key = "use_orig_params",
                             .message = {"scenario.frozen_flat_unit", {{"unit", plan.name}}},
                             .hint = {"scenario.hint.frozen_flat_unit", {}}});
            return;
        }
    } catch (const InvalidArgument&) {  // told where units are read
    }
}

std::vector<Refusal> fsdp1_refusals(const StrategyOptions& options, const StrategyUse& use) {
    std::vector<Refusal> found;
    refuse_wrap(options, use, found);
    refuse_mixed_units(options, use, found);
    if (!use.mesh_known) return found;
    const mesh::Shape sizes = use.data_sizes();
    const bool whole =
        options.fsdp1.strategy == ShardingStrategy::no_shard || (!sizes.empty() && sizes.back() == 1);
    if (use.has("mixed_precision") && whole)
        found.push_back({.key = "mixed_precision",
                         .message = {"scenario.precision_needs_shards", {}},
                         .of = Refusal::Of::key});
    refuse_dims(options, use, found);
    return found;
}

}  // namespace

std::string_view name(ShardingStrategy strategy) {
    return kShardingStrategies.at(static_cast<std::size_t>(strategy));
}

extern const Declaration kFsdp1;
const Declaration kFsdp1{.id = DataStrategy::fsdp1,
                         .word = "fsdp1",
                         .dims = DataDims::shard_maybe_replicate,
                         .dims_hint = "scenario.hint.dims_fsdp2",
                         .keys = kFsdp1Keys,
                         .compared = true,
                         .flat = true,
                         .zero_stage =
                             [](const StrategyOptions& options) {
                                 return options.fsdp1.strategy == ShardingStrategy::no_shard ? 0 : 3;
                             },
                         .refusals = fsdp1_refusals,
                         .make = [](const RankContext& context, nn::Model& model,
                                    const StrategyOptions& options) -> std::unique_ptr<Strategy> {
                             Fsdp1Options fsdp1 = options.fsdp1;
                             fsdp1.units = options.units;
                             fsdp1.wrap_min_elements = options.unit_min_elements();
                             fsdp1.precision = options.precision;
                             return std::make_unique<Fsdp1>(context, model, std::move(fsdp1));
                         }};

}  // namespace meshscope::parallel
