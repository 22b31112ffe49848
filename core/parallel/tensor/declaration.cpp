#include <array>
#include <string>

#include "core/mesh/mesh_offers.h"
#include "core/parallel/model_declaration.h"

namespace meshscope::parallel {
namespace {

constexpr std::array<std::string_view, 2> kPlans{"block", "linear"};

/// Those of sequence parallelism, which works along the same mesh dim, too.
constexpr StrategyKey kTensorKeys[] = {
    {"tp_plan", "\"block\"",
     StrategyKey::Word{kPlans,
                       [](StrategyOptions& o, std::size_t place) { o.tensor.linear_plan = place == 1; }}},
    {.name = "sequence_parallel",
     .fallback = "false",
     .value = StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.tensor.sequence_parallel = on; }},
     .of_tokens = true},
    {.name = "loss_parallel",
     .fallback = "false",
     .value = StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.tensor.loss_parallel = on; }},
     .of_tokens = true},
};

/// Heads that the tp ranks cannot share evenly: key/value heads may be fewer than the ranks, which then share
/// each of them.
void refuse_uneven_heads(const StrategyUse& use, std::size_t dim, std::vector<Refusal>& found) {
    const int64_t ranks = use.shape[dim];
    for (const auto& [name, n] : use.head_counts()) {
        const int64_t heads = n;
        const bool shared = name == "kv_heads";
        const auto fits = [shared](int64_t count, int64_t over) {
            return count % over == 0 || (shared && over % count == 0);
        };
        if (fits(heads, ranks)) continue;
        const std::string key = "model." + std::string(name);
        const bool divide_width = name == "heads";  // most numbers need not be tried
        found.push_back(
            {.key = std::string(name),
             .message = {"scenario.tp_does_not_divide", {{"key", key}, {"size", heads}, {"ranks", ranks}}},
             .offers = joined_offers(
                 offers_around(key, heads, ranks, nn::kMostSize,
                               [&](int64_t other) { return !divide_width || use.spec.dim % other == 0; }),
                 mesh::offers_of_dim(use.shape, dim, [&](int64_t other) { return fits(heads, other); })),
             .table = "model"});
    }
}

std::vector<Refusal> settle_tensor(StrategyOptions& options, const StrategyUse& use) {
    const auto dim = use.dim(mesh::Role::tp);
    if (!dim) return keys_without_dim(use, kTensorKeys, mesh::Role::tp);
    const nn::ModelSpec& model = use.spec;
    if (model.kind.empty()) return {};  // what it is to be was not understood
    const bool tokens = model.kind == "gpt" || model.kind == "llama";
    std::vector<Refusal> found;
    for (const StrategyKey& key : kTensorKeys) {
        const KeyValue value = use.value(key.name);
        const bool* const on = value.as<bool>();
        if (key.of_tokens && !tokens && on != nullptr && *on)
            found.push_back(
                {.key = std::string(key.name),
                 .message = {"scenario.key_needs_tokens",
                             {{"key", "parallel." + std::string(key.name)}, {"kind", model.kind}}},
                 .of = Refusal::Of::key});
    }
    if (options.tensor.sequence_parallel && options.tensor.linear_plan)
        found.push_back({.key = "tp_plan",
                         .message = {"scenario.keys_exclude",
                                     {{"key", std::string("parallel.tp_plan = \"linear\"")},
                                      {"other", std::string("parallel.sequence_parallel")}}},
                         .of = Refusal::Of::key});
    if (tokens && model.heads >= 1) refuse_uneven_heads(use, *dim, found);
    if (model.qk_norm == nn::QkNorm::width && use.shape[*dim] > 1)
        found.push_back(
            {.key = "names", .message = {"scenario.tp_qk_norm_width", {}}, .element = *dim, .table = "mesh"});
    return found;
}

}  // namespace

extern const ModelDeclaration kTensorParallel;
const ModelDeclaration kTensorParallel{
    .role = mesh::Role::tp, .keys = kTensorKeys, .settle = settle_tensor, .cuts_parameters = true};

}  // namespace meshscope::parallel
