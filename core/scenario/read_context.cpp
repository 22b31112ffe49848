#include "core/scenario/readers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"
#include "core/scenario/mesh_offers.h"

namespace meshscope::scenario {
namespace {

using parallel::ContextMethod;

/// A size that must divide by a number of parts, which comes of the mesh.
struct Division {
    int64_t size = 0, parts = 0;

    bool fine() const { return size % parts == 0; }
    /// The nearest sizes that would do, and the nearest sizes of the cp dim.
    std::vector<Offer> offers(const std::string& place, const Scenario& s) const {
        return joined(offers_around(place, size, parts, kMostSize),
                      offers_of_dim(s, *mesh::roles_of(s.mesh_names).cp, [](int64_t) { return true; }));
    }
};

/// Ring attention and Ulysses cut the sequence; ring attention's load balance cuts it twice as often.
void check_sequence(const Section& model, const Scenario& s, int64_t ranks) {
    const bool balanced = s.parallel.context.load_balance;
    const int64_t seq = s.model.seq;
    const Division cut{seq, balanced ? 2 * ranks : ranks};
    const std::vector<MessageArg> args{
        {"key", model.full("seq")}, {"size", seq}, {"parts", cut.parts}, {"ranks", ranks}};
    if (!cut.fine()) {
        std::vector<Offer> offers = cut.offers(model.place("seq"), s);
        if (balanced && seq % ranks == 0) offers.push_back({{{{"parallel.cp_load_balance", false}}}});
        model.report_offering("seq", {balanced ? "scenario.cp_seq_balanced" : "scenario.cp_seq", args},
                              std::move(offers));
    }
}

/// Ulysses gives every rank whole heads, of those that tensor parallelism leaves it.
void check_heads(const Section& model, const Scenario& s, int64_t ranks, int64_t tp_ranks) {
    const int64_t kv_heads = s.model.kv_heads > 0 ? s.model.kv_heads : s.model.heads;
    const auto check = [&](std::string_view key, int64_t heads) {
        const Division shared{heads, ranks * tp_ranks};
        // What tensor parallelism alone cannot share out was told where that was read.
        if (shared.fine() || heads % tp_ranks != 0) return;
        std::vector<Offer> offers = shared.offers(model.place(key), s);
        offers.push_back({{{{"parallel.cp", std::string("allgather")}}}});  // which leaves heads whole
        model.report_offering(
            key, {"scenario.cp_heads", {{"key", model.full(key)}, {"size", heads}, {"parts", shared.parts}}},
            std::move(offers));
    };
    if (model.sure("heads")) check("heads", s.model.heads);
    if (kv_heads != s.model.heads && model.sure("kv_heads")) check("kv_heads", kv_heads);
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
                    {"scenario.key_needs_dim", {{"key", parallel.full(key)}, {"dim", std::string("cp")}}}, {},
                    {offer_of_new_dim(s, "cp")});
        return;
    }
    if (s.model.kind == "toy" || s.model.kind == "mlp") {
        mesh.report_element("names", *roles.cp, {"scenario.cp_needs_tokens", {{"kind", s.model.kind}}});
        return;
    }
    if (!parallel.sure("cp")) return;
    if (s.parallel.sequence_parallel && s.model.kind == "gpt")
        parallel.report_key("sequence_parallel", {"scenario.cp_sequence_gpt", {}});
    const bool ulysses = cp.method == ContextMethod::ulysses;
    if (ulysses && parallel.has("cp_load_balance"))
        parallel.report_key("cp_load_balance", {"scenario.cp_balance_ulysses", {}});
    if (s.model.seq < 1 || s.model.heads < 1) return;  // reported where the model was read

    const int64_t ranks = s.mesh_shape[*roles.cp];
    const int64_t tp_ranks = roles.tp && *roles.tp < s.mesh_shape.size() ? s.mesh_shape[*roles.tp] : 1;
    cp.load_balance = !ulysses && balance.value_or(s.model.seq % (2 * ranks) == 0);
    if (ranks > 1) check_sequence(model, s, ranks);
    if (ulysses) check_heads(model, s, ranks, tp_ranks);
}

}  // namespace meshscope::scenario
