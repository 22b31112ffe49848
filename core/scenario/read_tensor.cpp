#include "core/scenario/read_tensor.h"

#include <algorithm>
#include <string>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {
namespace {}  // namespace

void read_tensor_parallel(const Section& parallel, const Section&, Scenario& s) {
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
}

}  // namespace meshscope::scenario
