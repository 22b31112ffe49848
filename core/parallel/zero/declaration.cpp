#include "core/parallel/declaration.h"

#include <array>

#include "core/parallel/ddp/untrained_stages.h"
#include "core/parallel/mixed_precision_key.h"
#include "core/parallel/unit_keys.h"
#include "core/parallel/zero/zero.h"
#include "core/parallel/zero/zero_redundancy.h"

namespace meshscope::parallel {
namespace {

constexpr std::array<std::string_view, 2> kZeroVariants{"paper", "pytorch"};

constexpr StrategyKey kZero1Keys[] = {
    kBucketCapKey,
    kMixedPrecisionKey,
    {"zero_variant", "\"paper\"",
     StrategyKey::Word{kZeroVariants,
                       [](StrategyOptions& o, std::size_t place) { o.zero_redundancy = place == 1; }}},
};
constexpr StrategyKey kZero2Keys[] = {kBucketCapKey, kMixedPrecisionKey};
constexpr StrategyKey kZero3Keys[] = {kBackwardPrefetchKey, kForwardPrefetchKey, kUnitsKey, kWrapKey,
                                      kWrapMinElementsKey,  kMixedPrecisionKey};

std::vector<Refusal> flat_refusals(const StrategyOptions& options, const StrategyUse& use) {
    std::vector<Refusal> found;
    if (!options.zero_redundancy) return found;
    refuse_precision(use, {"zero_variant"}, found);
    refuse_untrained_stages(options, use, found);
    return found;
}

std::vector<Refusal> zero3_refusals(const StrategyOptions& options, const StrategyUse& use) {
    std::vector<Refusal> found;
    refuse_wrap(options, use, found);
    const mesh::Shape sizes = use.data_sizes();
    if (use.mesh_known && use.has("mixed_precision") && !sizes.empty() && sizes.back() == 1)
        found.push_back({.key = "mixed_precision",
                         .message = {"scenario.precision_needs_ranks", {}},
                         .of = Refusal::Of::key});
    return found;
}

template <ZeroStage kStage>
std::unique_ptr<Strategy> make_stage(const RankContext& context, nn::Model& model,
                                     const StrategyOptions& options) {
    if (kStage == ZeroStage::optimizer && options.zero_redundancy) {
        DdpOptions ddp;
        ddp.bucket_cap_mb = options.bucket_cap_mb;
        return std::make_unique<ZeroRedundancy>(context, model, ddp);
    }
    ZeroOptions zero{options.bucket_cap_mb, options.fsdp1, options.precision};
    zero.units.precision = options.precision;
    zero.units.units = options.units;
    zero.units.wrap_min_elements = options.unit_min_elements();
    return make_zero(context, model, kStage, zero);
}

template <ZeroStage kStage>
int32_t stage_of(const StrategyOptions&) {
    return static_cast<int32_t>(kStage);
}

}  // namespace

extern const Declaration kZero1, kZero2, kZero3;
const Declaration kZero1{.id = DataStrategy::zero1,
                         .word = "zero1",
                         .dims = DataDims::shard,
                         .dims_hint = "scenario.hint.dims_zero",
                         .keys = kZero1Keys,
                         .compared = true,
                         .in_pipelines = true,
                         .shares_between_stages = [](const StrategyOptions& o) { return !o.zero_redundancy; },
                         .flat = true,
                         .zero_stage = stage_of<ZeroStage::optimizer>,
                         .ranks_own_whole = [](const StrategyOptions& o) { return o.zero_redundancy; },
                         .refusals = flat_refusals,
                         .make = make_stage<ZeroStage::optimizer>};
const Declaration kZero2{.id = DataStrategy::zero2,
                         .word = "zero2",
                         .dims = DataDims::shard,
                         .dims_hint = "scenario.hint.dims_zero",
                         .keys = kZero2Keys,
                         .compared = true,
                         .flat = true,
                         .zero_stage = stage_of<ZeroStage::gradients>,
                         .make = make_stage<ZeroStage::gradients>};
const Declaration kZero3{.id = DataStrategy::zero3,
                         .word = "zero3",
                         .dims = DataDims::shard,
                         .dims_hint = "scenario.hint.dims_zero",
                         .keys = kZero3Keys,
                         .compared = true,
                         .flat = true,
                         .zero_stage = stage_of<ZeroStage::parameters>,
                         .refusals = zero3_refusals,
                         .make = make_stage<ZeroStage::parameters>};

}  // namespace meshscope::parallel
