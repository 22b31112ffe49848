#include "core/parallel/declaration.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/mesh/roles.h"
#include "core/parallel/fsdp2/fsdp2.h"
#include "core/parallel/mixed_precision_key.h"
#include "core/parallel/unit_keys.h"

namespace meshscope::parallel {
namespace {

constexpr std::array<std::string_view, 3> kGradientSyncs{"last", "all_reduce_last", "every"};

constexpr int64_t kMostPrefetchedUnits = 1 << 16;

/// Ranks of a shard group, into which a cp dim is flattened; 0: the mesh does not say.
int64_t shard_ranks(const StrategyUse& use) {
    if (!use.mesh_known) return 0;
    int64_t shard = 0, cp = 1;
    for (std::size_t d = 0; d < std::min(use.names.size(), use.shape.size()); ++d) {
        const auto role = mesh::role_of(use.names[d]);
        if (role == mesh::Role::shard) shard = use.shape[d];
        if (role == mesh::Role::cp) cp = use.shape[d];
    }
    return shard * cp;
}

std::string factors(int64_t ranks) {
    std::string text;
    for (int64_t k = 1; k <= ranks; ++k)
        if (ranks % k == 0) text += (text.empty() ? "" : ", ") + std::to_string(k);
    return text;
}

/// true, false or an integer that divides the shard ranks; what else it is goes into `found`.
std::optional<ReshardAfterForward> read_one(const KeyValue& value, int64_t ranks,
                                            std::optional<std::size_t> element, std::vector<Refusal>& found) {
    if (const bool* flag = value.as<bool>()) return ReshardAfterForward{*flag, 0};
    const auto* parts = value.as<int64_t>();
    if (parts == nullptr) return std::nullopt;
    if (ranks > 0 && (*parts < 1 || *parts > ranks || ranks % *parts != 0))
        found.push_back({.key = "reshard_after_forward",
                         .message = {"scenario.reshard_factor", {{"parts", *parts}, {"ranks", ranks}}},
                         .hint = {"scenario.hint.known", {{"known", factors(ranks)}}},
                         .element = element});
    return ReshardAfterForward{true, *parts};
}

bool read_reshard(const KeyValue& value, StrategyOptions& options, const StrategyUse& use,
                  std::vector<Refusal>& found) {
    const int64_t ranks = shard_ranks(use);
    if (const auto* word = value.as<std::string>()) {
        options.fsdp2.keep_root = *word == "default";
        return options.fsdp2.keep_root;
    }
    if (const auto* list = value.as<std::vector<KeyValue>>()) {
        for (std::size_t i = 0; i < list->size(); ++i) {
            const auto after = read_one((*list)[i], ranks, i, found);
            if (!after)
                found.push_back(
                    {.key = "reshard_after_forward", .message = {"scenario.bad_reshard", {}}, .element = i});
            options.fsdp2.reshard_by_unit.push_back(after.value_or(ReshardAfterForward{}));
        }
        return true;
    }
    const auto after = read_one(value, ranks, {}, found);
    if (after) options.fsdp2.reshard_after_forward = *after;
    return after.has_value();
}

constexpr StrategyKey kFsdp2Keys[] = {
    {"reshard_after_forward", "true",
     StrategyKey::Several{"boolean, integer, \"default\" or array of booleans and integers", read_reshard}},
    {"is_last_backward", "false",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp2.set_is_last_backward = on; }}},
    {"backward_prefetch", "true",
     StrategyKey::FlagOr{
         {[](StrategyOptions& o, bool on) { o.fsdp2.backward_prefetch = on; }},
         StrategyKey::Integer{1, kMostPrefetchedUnits,
                              [](StrategyOptions& o, int64_t units) {
                                  o.fsdp2.backward_prefetch_units = static_cast<int32_t>(units);
                              }},
         StrategyKey::Word{kPrefetches, [](StrategyOptions&, std::size_t) {}}}},  // FSDP1's: refused below
    {"forward_prefetch", "false",
     StrategyKey::Integer{1, kMostPrefetchedUnits,
                          [](StrategyOptions& o, int64_t units) {
                              o.fsdp2.forward_prefetch_units = static_cast<int32_t>(units);
                          }}},
    kUnitsKey,
    kMixedPrecisionKey,
    {"reshard_after_backward", "true",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp2.reshard_after_backward = on; }}},
    {"gradient_sync", "\"last\"",
     StrategyKey::Word{kGradientSyncs,
                       [](StrategyOptions& o, std::size_t place) {
                           o.fsdp2.gradient_sync = static_cast<GradientSync>(place);
                       }}},
    {"gradient_divide_factor", "the data-parallel ranks",
     StrategyKey::Number{0, 1e9, false,
                         [](StrategyOptions& o, double by) { o.fsdp2.gradient_divide_factor = by; }}},
    {"force_sum_reduction", "false",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp2.force_sum_reduction = on; }}},
    {"cpu_offload", "false",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp2.cpu_offload = on; }}},
};

/// A list has an entry for each unit, which must be named, and perhaps one for the root.
void refuse_reshard_list(const StrategyOptions& options, const StrategyUse& use,
                         std::vector<Refusal>& found) {
    const auto refuse = [&](Message message) {
        found.push_back({"reshard_after_forward", std::move(message)});
    };
    const KeyValue value = use.value("reshard_after_forward");
    const auto* list = value.as<std::vector<KeyValue>>();
    if (list == nullptr) return;
    if (!use.has("units")) return refuse({"scenario.reshard_list_needs_units", {}});
    const std::size_t units = options.units.size();  // 0: not read, or wrong
    if (units > 0 && list->size() != units && list->size() != units + 1)
        refuse({"scenario.reshard_list_count",
                {{"found", static_cast<int64_t>(list->size())},
                 {"units", static_cast<int64_t>(units)},
                 {"more", static_cast<int64_t>(units + 1)}}});
    if (use.has("schedule")) refuse({"scenario.reshard_list_pipeline", {}});
}

std::vector<Refusal> fsdp2_refusals(const StrategyOptions& options, const StrategyUse& use) {
    std::vector<Refusal> found;
    refuse_reshard_list(options, use, found);
    const KeyValue prefetch = use.value("backward_prefetch");
    if (const auto* word = prefetch.as<std::string>())
        found.push_back({"backward_prefetch",
                         {"scenario.prefetch_word", {{"word", *word}}},
                         {"scenario.hint.known", {{"known", std::string("true, false, 1, 2 …")}}}});
    if (options.fsdp2.gradient_sync == GradientSync::all_reduce_last && use.mesh_known &&
        mesh::roles_of(use.names).data.size() < 2)
        found.push_back({"gradient_sync", {"scenario.sync_needs_replicas", {}}});
    if (!use.has("schedule")) return found;
    for (const char* key : {"gradient_sync", "reshard_after_backward"})
        if (use.has(key))
            found.push_back(
                {.key = key,
                 .message = {"scenario.pipeline_reduces", {{"key", std::string("parallel.") + key}}},
                 .of = Refusal::Of::key});
    if (options.fsdp2.set_is_last_backward)
        found.push_back({"is_last_backward", {"scenario.pipeline_last_backward", {}}});
    return found;
}

/// What of the units lies in this model: a pipeline's stage has some of the modules only.
std::vector<std::vector<std::string>> units_in(nn::Model& model,
                                               std::vector<std::vector<std::string>> units) {
    for (std::vector<std::string>& unit : units)
        std::erase_if(unit, [&](const std::string& name) { return model.find(name) == nullptr; });
    std::erase_if(units, [](const std::vector<std::string>& unit) { return unit.empty(); });
    return units;
}

}  // namespace

extern const Declaration kFsdp2;
const Declaration kFsdp2{
    .id = DataStrategy::fsdp2,
    .word = "fsdp2",
    .dims = DataDims::shard_maybe_replicate,
    .dims_hint = "scenario.hint.dims_fsdp2",
    .keys = kFsdp2Keys,
    .compared = true,
    .in_pipelines = true,
    .shares_between_stages = [](const StrategyOptions& o) { return !o.fsdp2.cpu_offload; },
    .hybrid_word = "hsdp",
    .stores_bfloat16 = true,
    .zero_stage = [](const StrategyOptions&) { return 3; },
    .offloads = [](const StrategyOptions& o) { return o.fsdp2.cpu_offload; },
    .refusals = fsdp2_refusals,
    .make = [](const RankContext& context, nn::Model& model,
               const StrategyOptions& options) -> std::unique_ptr<Strategy> {
        Fsdp2Options fsdp2 = options.fsdp2;
        fsdp2.units = units_in(model, options.units);
        fsdp2.pipeline = options.pipeline.shape.has_value();
        fsdp2.precision = options.precision;
        return std::make_unique<Fsdp2>(context, model, std::move(fsdp2));
    }};

}  // namespace meshscope::parallel
