#include "core/scenario/readers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/mesh/mesh_offers.h"
#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

/// Refuses a size of the model that the tp ranks cannot share evenly.
void check_divides(const Section& model, std::string_view key, int64_t size, const Scenario& s) {
    const std::size_t tp = *mesh::roles_of(s.mesh_names).tp;
    const int64_t ranks = s.mesh_shape[tp];
    if (size % ranks == 0) return;
    const bool heads = key == "heads";  // they must divide dim, too; most numbers need not be tried
    model.report_offering(
        key, {"scenario.tp_does_not_divide", {{"key", model.full(key)}, {"size", size}, {"ranks", ranks}}},
        joined_offers(offers_around(model.place(key), size, ranks, nn::kMostSize,
                                    [&](int64_t n) { return !heads || s.model.dim % n == 0; }),
                      mesh::offers_of_dim(s.mesh_shape, tp, [&](int64_t n) { return size % n == 0; })));
}

}  // namespace

void read_tensor_parallel(const Section& parallel, const Section& model, Scenario& s) {
    Scenario::Parallel& p = s.parallel;
    if (const auto plan = parallel.word("tp_plan", tp_plans())) p.tensor.linear_plan = *plan == "linear";
    p.tensor.sequence_parallel = parallel.boolean("sequence_parallel").value_or(false);
    p.tensor.loss_parallel = parallel.boolean("loss_parallel").value_or(false);

    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    if (!roles.tp || *roles.tp >= s.mesh_shape.size()) {
        for (const char* key : {"tp_plan", "sequence_parallel", "loss_parallel"})
            if (parallel.has(key))
                parallel.report_key(
                    key,
                    {"scenario.key_needs_dim", {{"key", parallel.full(key)}, {"dim", std::string("tp")}}}, {},
                    {mesh::offer_of_new_dim(s.mesh_shape, s.mesh_names, "tp")});
        return;
    }
    if (s.model.kind.empty()) return;  // what it is to be was not understood
    const bool tokens = s.model.kind == "gpt" || s.model.kind == "llama";
    for (const char* key : {"sequence_parallel", "loss_parallel"})
        if ((std::string_view(key) == "loss_parallel" ? p.tensor.loss_parallel
                                                      : p.tensor.sequence_parallel) &&
            !tokens)
            parallel.report_key(
                key, {"scenario.key_needs_tokens", {{"key", parallel.full(key)}, {"kind", s.model.kind}}});
    if (p.tensor.sequence_parallel && p.tensor.linear_plan)
        parallel.report_key("tp_plan", {"scenario.keys_exclude",
                                        {{"key", parallel.full("tp_plan") + " = \"linear\""},
                                         {"other", parallel.full("sequence_parallel")}}});
    if (!tokens || s.model.heads < 1) return;

    const int64_t kv_heads = s.model.kv_heads > 0 ? s.model.kv_heads : s.model.heads;
    if (model.sure("heads")) check_divides(model, "heads", s.model.heads, s);
    if (kv_heads != s.model.heads && model.sure("kv_heads")) check_divides(model, "kv_heads", kv_heads, s);
}

}  // namespace meshscope::scenario
