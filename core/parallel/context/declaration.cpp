#include <algorithm>
#include <array>
#include <string>

#include "core/mesh/mesh_offers.h"
#include "core/parallel/model_declaration.h"
#include "core/parallel/tensor/placement.h"

namespace meshscope::parallel {
namespace {

constexpr std::array<std::string_view, 3> kMethods{"allgather", "alltoall", "ulysses"};

constexpr StrategyKey kContextKeys[] = {
    {"cp", "\"allgather\"",
     StrategyKey::Word{kMethods,
                       [](StrategyOptions& o, std::size_t place) {
                           o.context.method = static_cast<ContextMethod>(place);
                       }}},
    {"cp_load_balance", "true where it is possible",
     StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.context.load_balance = on; }}},
};

/// The nearest sizes of the model that divide by so many parts, and the nearest sizes of the cp dim.
std::vector<Offer> offers_of_size(const StrategyUse& use, std::string_view key, int64_t size, int64_t parts) {
    return joined_offers(
        offers_around("model." + std::string(key), size, parts, nn::kMostSize),
        mesh::offers_of_dim(use.shape, *use.dim(mesh::Role::cp), [](int64_t) { return true; }));
}

/// Ring attention and Ulysses cut the sequence; ring attention's load balance cuts it twice as often.
void refuse_sequence(const StrategyUse& use, bool balanced, int64_t ranks, std::vector<Refusal>& found) {
    const int64_t seq = use.spec.seq, parts = balanced ? 2 * ranks : ranks;
    if (seq % parts == 0) return;
    std::vector<Offer> offers = offers_of_size(use, "seq", seq, parts);
    if (balanced && seq % ranks == 0) offers.push_back({{{{"parallel.cp_load_balance", false}}}});
    found.push_back(
        {.key = "seq",
         .message = {balanced ? "scenario.cp_seq_balanced" : "scenario.cp_seq",
                     {{"key", std::string("model.seq")}, {"size", seq}, {"parts", parts}, {"ranks", ranks}}},
         .offers = std::move(offers),
         .table = "model"});
}

/// Ulysses gives every rank whole heads, of those that tensor parallelism leaves it.
void refuse_ulysses_heads(const StrategyUse& use, int64_t ranks, std::vector<Refusal>& found) {
    const auto tp = use.dim(mesh::Role::tp);
    const int64_t tp_ranks = tp ? use.shape[*tp] : 1, parts = ranks * tp_ranks;
    for (const auto& [key, heads] : use.head_counts()) {
        // What tensor parallelism alone cannot share out is told by its own declaration.
        const bool shared = key == "kv_heads";
        if (heads % tp_ranks != 0 && (!shared || kv_copies(heads, tp_ranks) == 1)) continue;
        // More tp ranks than key/value heads have one each; more cp ranks than these share them too.
        const int64_t own = std::max<int64_t>(heads / tp_ranks, 1);
        if (own % ranks == 0 || (shared && kv_copies(own, ranks) > 1)) continue;
        std::vector<Offer> offers = offers_of_size(use, key, heads, parts);
        offers.push_back({{{{"parallel.cp", std::string("allgather")}}}});  // which leaves heads whole
        found.push_back(
            {.key = std::string(key),
             .message = {"scenario.cp_heads",
                         {{"key", "model." + std::string(key)}, {"size", heads}, {"parts", parts}}},
             .offers = std::move(offers),
             .table = "model"});
    }
}

std::vector<Refusal> settle_context(StrategyOptions& options, const StrategyUse& use) {
    const auto dim = use.dim(mesh::Role::cp);
    if (!dim) return keys_without_dim(use, kContextKeys, mesh::Role::cp);
    const nn::ModelSpec& model = use.spec;
    if (model.kind == "toy" || model.kind == "mlp")
        return {{.key = "names",
                 .message = {"scenario.cp_needs_tokens", {{"kind", model.kind}}},
                 .element = *dim,
                 .table = "mesh"}};
    if (!use.sure("cp")) return {};
    std::vector<Refusal> found;
    if (options.tensor.sequence_parallel && model.kind == "gpt")
        found.push_back({.key = "sequence_parallel",
                         .message = {"scenario.cp_sequence_gpt", {}},
                         .of = Refusal::Of::key});
    ContextParallelOptions& cp = options.context;
    const bool ulysses = cp.method == ContextMethod::ulysses;
    if (ulysses && use.has("cp_load_balance"))
        found.push_back({.key = "cp_load_balance",
                         .message = {"scenario.cp_balance_ulysses", {}},
                         .of = Refusal::Of::key});
    if (model.seq < 1 || model.heads < 1) return found;  // reported where the model was read

    const int64_t ranks = use.shape[*dim];
    const KeyValue asked = use.value("cp_load_balance");
    const bool* const balance = asked.as<bool>();
    cp.load_balance = !ulysses && (balance != nullptr ? *balance : model.seq % (2 * ranks) == 0);
    if (ranks > 1) refuse_sequence(use, cp.load_balance, ranks, found);
    if (ulysses) refuse_ulysses_heads(use, ranks, found);
    return found;
}

}  // namespace

extern const ModelDeclaration kContextParallel;
const ModelDeclaration kContextParallel{
    .role = mesh::Role::cp,
    .keys = kContextKeys,
    .settle = settle_context,
    .no_evaluation = [](const StrategyOptions&, const mesh::Names& names) -> std::string_view {
        return mesh::roles_of(names).of(mesh::Role::cp) ? "scenario.eval_context" : "";
    }};

}  // namespace meshscope::parallel
