#include "core/parallel/declaration.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/parallel/ddp/ddp.h"
#include "core/parallel/ddp/untrained_stages.h"
#include "core/parallel/mixed_precision_key.h"

namespace meshscope::parallel {
namespace {

constexpr std::array<std::string_view, 4> kDdpHooks{"allreduce", "fp16_compress", "bf16_compress",
                                                    "powersgd"};

constexpr int64_t kMostReductions = int64_t{1} << 31;

constexpr StrategyKey kPowerSgdKeys[] = {
    {"matrix_approximation_rank", "1",
     StrategyKey::Integer{
         1, 1 << 16,
         [](StrategyOptions& o, int64_t rank) { o.ddp.powersgd.matrix_approximation_rank = rank; }}},
    {"start_iteration", "1000",
     StrategyKey::Integer{0, kMostReductions,
                          [](StrategyOptions& o, int64_t start) { o.ddp.powersgd.start_iteration = start; }}},
    {"min_compression_rate", "2.0",
     StrategyKey::Number{
         0, 1e9, false, [](StrategyOptions& o, double rate) { o.ddp.powersgd.min_compression_rate = rate; }}},
    {"error_feedback", "true",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.powersgd.error_feedback = on; }}},
    {"warm_start", "true",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.powersgd.warm_start = on; }}},
    {"seed", "0",
     StrategyKey::Integer{
         0, int64_t{1} << 62,
         [](StrategyOptions& o, int64_t seed) { o.ddp.powersgd.seed = static_cast<uint64_t>(seed); }}},
};

constexpr StrategyKey kDdpKeys[] = {
    kBucketCapKey,
    {"ddp_hook", "(none)",
     StrategyKey::Word{kDdpHooks, [](StrategyOptions& o,
                                     std::size_t place) { o.ddp.hook = static_cast<DdpHook>(1 + place); }}},
    {"powersgd", "(none)",
     StrategyKey::Table{[] { return std::span<const StrategyKey>(kPowerSgdKeys); }, "ddp_hook", "powersgd"}},
    {"gradient_as_bucket_view", "false",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.gradient_as_bucket_view = on; }}},
    {"static_graph", "false",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.static_graph = on; }}},
    {"find_unused_parameters", "false",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.find_unused_parameters = on; }}},
    kMixedPrecisionKey,
    {"join", "false", StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.join = on; }}},
    {"divide_by_initial_world_size", "true",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.ddp.divide_by_initial_world_size = on; }}},
};

/// PowerSGD's first compressed step; with Join ranks may run out of batches in any step.
int64_t ddp_telling_steps(const StrategyOptions& options) {
    constexpr int64_t kMost = 64;
    if (options.ddp.join) return kMost;
    if (options.ddp.hook != DdpHook::powersgd) return 0;
    return std::min(options.ddp.powersgd.start_iteration + 2, kMost);
}

void refuse_powersgd(const DdpOptions& ddp, const StrategyUse& use, std::vector<Refusal>& found) {
    if (!use.sure("ddp_hook") || !use.sure("powersgd") || !use.sure("powersgd.start_iteration") ||
        !use.sure("powersgd.error_feedback") || !use.sure("powersgd.warm_start"))
        return;
    if (ddp.hook != DdpHook::powersgd) {
        if (use.has("powersgd"))
            found.push_back({.key = "powersgd",
                             .message = {"scenario.powersgd_without_hook", {}},
                             .of = Refusal::Of::key});
        return;
    }
    // PyTorch: only the third reduction finds the buckets that stay.
    const PowerSgdOptions& p = ddp.powersgd;
    if (p.start_iteration <= 1 && (p.error_feedback || p.warm_start)) {
        constexpr const char* kStart = "powersgd.start_iteration";
        found.push_back({use.has(kStart) ? kStart : "ddp_hook",
                         {"scenario.powersgd_start", {{"start", p.start_iteration}}}});
    }
}

/// A training in bfloat16 throughout sends bfloat16: float16 and PowerSGD's float32 are other types.
void refuse_dtype(const DdpOptions& ddp, const StrategyUse& use, std::vector<Refusal>& found) {
    if (ddp.hook != DdpHook::fp16_compress && ddp.hook != DdpHook::powersgd) return;
    const KeyValue dtype = use.value("dtype", "train");
    const auto* const trained = dtype.as<std::string>();
    if (trained == nullptr || *trained != "bfloat16" || !use.sure("ddp_hook")) return;
    Offer others{{}, 2};
    for (const char* const hook : {"allreduce", "bf16_compress"}) {
        others.candidates.push_back({{"parallel.ddp_hook", std::string(hook)}});
        if (use.has("powersgd")) others.candidates.back().push_back({"parallel.powersgd", {}});
    }
    found.push_back(
        {.key = "dtype",
         .message = {"scenario.dtype_hook",
                     {{"hook", std::string(kDdpHooks.at(static_cast<std::size_t>(ddp.hook) - 1))}}},
         .offers = {std::move(others)},
         .of = Refusal::Of::key,
         .table = "train"});
}

/// What Join does not go together with.
void refuse_join(const DdpOptions& ddp, const StrategyUse& use, std::vector<Refusal>& found) {
    if (!use.sure("join")) return;
    if (!ddp.join) {
        if (use.has("divide_by_initial_world_size"))
            found.push_back({.key = "divide_by_initial_world_size",
                             .message = {"scenario.divide_without_join", {}},
                             .of = Refusal::Of::key});
        return;
    }
    if (use.has("schedule")) found.push_back({"join", {"scenario.join_pipeline", {}}});
    if (ddp.static_graph) found.push_back({"join", {"scenario.join_static_graph", {}}});
    if (use.sure("ddp_hook") && !ddp.divide_by_initial_world_size && ddp.hook != DdpHook::none)
        found.push_back({"divide_by_initial_world_size", {"scenario.join_hook_divides", {}}});
}

std::vector<Refusal> ddp_refusals(const StrategyOptions& options, const StrategyUse& use) {
    std::vector<Refusal> found;
    refuse_powersgd(options.ddp, use, found);
    refuse_dtype(options.ddp, use, found);
    refuse_untrained_stages(options, use, found);
    if (options.ddp.static_graph && options.ddp.find_unused_parameters)
        found.push_back({"find_unused_parameters", {"scenario.static_finds_unused", {}}});
    refuse_join(options.ddp, use, found);
    refuse_precision(
        use, {"ddp_hook", "gradient_as_bucket_view", "static_graph", "find_unused_parameters", "join"},
        found);
    return found;
}

std::vector<Refusal> ddp_unsaved(const StrategyOptions& options) {
    std::vector<Refusal> found;
    if (options.ddp.join) found.push_back({"join", {"scenario.join_checkpoint", {}}});
    if (options.ddp.hook == DdpHook::powersgd)
        found.push_back({"ddp_hook", {"scenario.powersgd_checkpoint", {}}});
    return found;
}

}  // namespace

extern const Declaration kDdp;
const Declaration kDdp{.id = DataStrategy::ddp,
                       .word = "ddp",
                       .dims = DataDims::replicate,
                       .dims_hint = "scenario.hint.dims_ddp",
                       .keys = kDdpKeys,
                       .compared = true,
                       .in_pipelines = true,
                       .shares_between_stages = [](const StrategyOptions&) { return true; },
                       .stores_bfloat16 = true,
                       .batch_norm = true,
                       .sync_batch_norm = true,
                       .telling_steps = ddp_telling_steps,
                       .uneven_inputs = [](const StrategyOptions& o) { return o.ddp.join; },
                       .unsaved = ddp_unsaved,
                       .refusals = ddp_refusals,
                       .make = [](const RankContext& context, nn::Model& model,
                                  const StrategyOptions& options) -> std::unique_ptr<Strategy> {
                           DdpOptions ddp = options.ddp;
                           ddp.bucket_cap_mb = options.bucket_cap_mb;
                           return std::make_unique<Ddp>(context, model, ddp, options.precision);
                       }};

}  // namespace meshscope::parallel
