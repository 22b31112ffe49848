#include "core/scenario/read_context.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"
#include "core/scenario/nearest.h"

namespace meshscope::scenario {
namespace {

using parallel::ContextMethod;

/// A size that must divide by a number of parts, which comes of the mesh.
struct Division {
    int64_t size = 0, parts = 0;

    bool fine() const { return size % parts == 0; }
    /// The nearest sizes that would do, and what else would: `id` or `id`_above, where there is none below.
    Message hint(std::string id, std::string sizes) const {
        const int64_t below = size / parts * parts;
        if (below == 0) id += "_above";
        return {id, {{"below", below}, {"above", below + parts}, {"sizes", std::move(sizes)}}};
    }
};

/// Ring attention and Ulysses cut the sequence; ring attention's load balance cuts it twice as often.
void check_sequence(const Section& model, const Scenario& s, int64_t ranks, int64_t tp_ranks) {
    const bool balanced = s.parallel.context.load_balance;
    const int64_t seq = s.model.seq;
    const Division cut{seq, balanced ? 2 * ranks : ranks};
    const std::vector<MessageArg> args{
        {"key", model.full("seq")}, {"size", seq}, {"parts", cut.parts}, {"ranks", ranks}};
    const int64_t halves = seq % 2 == 0 ? seq / 2 : 1;
    const std::string sizes = dividing_all({balanced ? halves : seq}, std::min(seq, 2 * ranks));
    if (!cut.fine() && balanced && seq % ranks == 0) {
        model.report("seq", {"scenario.cp_seq_balanced", args},
                     cut.hint("scenario.hint.cp_unbalanced", sizes));
    } else if (!cut.fine()) {
        model.report("seq", {balanced ? "scenario.cp_seq_balanced" : "scenario.cp_seq", args},
                     cut.hint("scenario.hint.cp_divides", sizes));
    } else if (const Division again{seq, ranks * tp_ranks}; s.parallel.sequence_parallel && !again.fine()) {
        model.report("seq",
                     {"scenario.cp_seq_tp",
                      {{"key", model.full("seq")}, {"size", seq}, {"ranks", ranks}, {"tp_ranks", tp_ranks}}},
                     again.hint("scenario.hint.cp_divides", sizes));
    }
}

/// Ulysses gives every rank whole heads, of those that tensor parallelism leaves it.
void check_heads(const Section& model, const Scenario& s, int64_t ranks, int64_t tp_ranks) {
    const int64_t kv_heads = s.model.kv_heads > 0 ? s.model.kv_heads : s.model.heads;
    const auto check = [&](std::string_view key, int64_t heads) {
        const Division shared{heads, ranks * tp_ranks};
        if (shared.fine()) return;
        model.report(
            key, {"scenario.cp_heads", {{"key", model.full(key)}, {"size", heads}, {"parts", shared.parts}}},
            shared.hint("scenario.hint.cp_heads",
                        dividing_all({s.model.heads / tp_ranks, kv_heads / tp_ranks}, kv_heads)));
    };
    check("heads", s.model.heads);
    if (kv_heads != s.model.heads) check("kv_heads", kv_heads);
}

}  // namespace

void read_context_parallel(const Section& parallel, const Section& mesh, const Section& model, Scenario& s) {
    parallel::ContextParallelOptions& cp = s.parallel.context;
    if (const auto word = parallel.word("cp", context_methods()))
        cp.method = static_cast<ContextMethod>(std::ranges::find(context_methods(), *word) -
                                               context_methods().begin());
    const auto balance = parallel.boolean("cp_load_balance");

    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    if (!roles.cp || *roles.cp >= s.mesh_shape.size()) {
        for (const char* key : {"cp", "cp_load_balance"})
            if (parallel.has(key))
                parallel.report_key(
                    key,
                    {"scenario.key_needs_dim", {{"key", parallel.full(key)}, {"dim", std::string("cp")}}},
                    {"scenario.hint.cp_dim_example", {}});
        return;
    }
    if (s.model.kind == "toy" || s.model.kind == "mlp") {
        mesh.report_element("names", *roles.cp, {"scenario.cp_needs_tokens", {{"kind", s.model.kind}}});
        return;
    }
    if (s.parallel.sequence_parallel && s.model.kind == "gpt")
        parallel.report_key("sequence_parallel", {"scenario.cp_sequence_gpt", {}});
    const bool ulysses = cp.method == ContextMethod::ulysses;
    if (ulysses && parallel.has("cp_load_balance"))
        parallel.report_key("cp_load_balance", {"scenario.cp_balance_ulysses", {}});
    if (s.model.seq < 1 || s.model.heads < 1) return;  // reported where the model was read

    const int64_t ranks = s.mesh_shape[*roles.cp];
    const int64_t tp_ranks = roles.tp && *roles.tp < s.mesh_shape.size() ? s.mesh_shape[*roles.tp] : 1;
    cp.load_balance = !ulysses && balance.value_or(s.model.seq % (2 * ranks) == 0);
    if (ranks > 1) check_sequence(model, s, ranks, tp_ranks);
    if (ulysses) check_heads(model, s, ranks, tp_ranks);
}

}  // namespace meshscope::scenario
