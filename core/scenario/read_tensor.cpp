#include "core/scenario/read_tensor.h"

#include <algorithm>
#include <string>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"
#include "core/scenario/nearest.h"

namespace meshscope::scenario {
namespace {

/// Refuses a size of the model that the tp ranks cannot share evenly. What is proposed instead divides
/// `whole`, too, where that is not 0 (heads must divide the model's dim): it shall not be refused next.
void check_divides(const Section& model, std::string_view key, int64_t size, int64_t ranks,
                   const std::vector<int64_t>& together, int64_t whole = 0) {
    if (size % ranks == 0) return;
    const std::vector<int64_t> values = nearest_of(size, whole > 0 ? whole : size + ranks, [&](int64_t n) {
        return n % ranks == 0 && (whole == 0 || whole % n == 0);
    });
    const int64_t most = *std::min_element(together.begin(), together.end());
    model.report(
        key, {"scenario.tp_does_not_divide", {{"key", model.full(key)}, {"size", size}, {"ranks", ranks}}},
        {values.empty() ? "scenario.hint.tp_dim" : "scenario.hint.tp_divides",
         {{"values", values}, {"sizes", dividing_all(together, most)}}});
}

}  // namespace

void read_tensor_parallel(const Section& parallel, const Section& model, Scenario& s) {
    Scenario::Parallel& p = s.parallel;
    if (const auto plan = parallel.word("tp_plan", tp_plans())) p.tp_plan_linear = *plan == "linear";
    p.sequence_parallel = parallel.boolean("sequence_parallel").value_or(false);
    p.loss_parallel = parallel.boolean("loss_parallel").value_or(false);

    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    if (!roles.tp || *roles.tp >= s.mesh_shape.size()) {
        for (const char* key : {"tp_plan", "sequence_parallel", "loss_parallel"})
            if (parallel.has(key))
                parallel.report_key(
                    key,
                    {"scenario.key_needs_dim", {{"key", parallel.full(key)}, {"dim", std::string("tp")}}},
                    {"scenario.hint.dim_example", {}});
        return;
    }
    const bool tokens = s.model.kind == "gpt" || s.model.kind == "llama";
    for (const char* key : {"sequence_parallel", "loss_parallel"})
        if (parallel.boolean(key).value_or(false) && !tokens)
            parallel.report_key(
                key, {"scenario.key_needs_tokens", {{"key", parallel.full(key)}, {"kind", s.model.kind}}});
    if (p.sequence_parallel && p.tp_plan_linear)
        parallel.report_key("tp_plan", {"scenario.keys_exclude",
                                        {{"key", parallel.full("tp_plan") + " = \"linear\""},
                                         {"other", parallel.full("sequence_parallel")}}});
    if (!tokens || s.model.heads < 1) return;

    const int64_t ranks = s.mesh_shape[*roles.tp];
    const int64_t kv_heads = s.model.kv_heads > 0 ? s.model.kv_heads : s.model.heads;
    std::vector<int64_t> together{s.model.heads, kv_heads};
    check_divides(model, "heads", s.model.heads, ranks, together, s.model.dim);
    if (kv_heads != s.model.heads) check_divides(model, "kv_heads", kv_heads, ranks, together);
    if (!p.sequence_parallel) return;
    check_divides(model, "seq", s.model.seq, ranks, {s.model.seq});
    // Where parameters lie in one flat array, or go to ranks by their size, the norms' gradients, which the
    // tp ranks sum, lie at the same place on all of them only where every cut is even.
    using enum DataStrategy;
    const bool flat = p.data == fsdp1 || p.data == zero1 || p.data == zero2 || p.data == zero3;
    if (flat) check_divides(model, "hidden", s.model.hidden, ranks, {s.model.hidden});
    if (flat || !p.loss_parallel) check_divides(model, "vocab", s.model.vocab, ranks, {s.model.vocab});
}

}  // namespace meshscope::scenario
