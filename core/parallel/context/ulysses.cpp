#include "core/parallel/context/ulysses.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/nn/layers/attention.h"
#include "core/parallel/sequence/cut.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {
namespace {

using nn::Tape;
using nn::Variable;
using tensor::Shape;

constexpr int kTokens = 1;  // the tensor dims of (batch, tokens, heads · head_dim)
constexpr int kHeads = 2;

/// Why an exchange is there, forward and backward.
struct Rules {
    std::string_view forward, backward;
};

/// (…, cut dim whole, …, joined dim in part, …) → (…, cut dim in part, …, joined dim whole, …).
Tensor exchanged(Tape& tape, const Tensor& x, int cut_dim, int join_dim, comm::ProcessGroup& group,
                 std::string_view rule) {
    const int64_t ranks = group.size();
    const std::string unit(tape.unit());
    const auto empty = [&](const Shape& shape, bool result) {
        return tape.allocator().empty(shape, x.dtype(),
                                      result ? MemoryCategory::activations : MemoryCategory::communication,
                                      unit + " all_to_all");
    };
    const Cut leaving = Cut::of(x.shape(), cut_dim, ranks);
    if (!leaving.even())
        throw InvalidArgument(
            {"sp.uneven", {{"shape", x.shape()}, {"tensor_dim", int64_t{cut_dim}}, {"ranks", ranks}}});
    const Shape shape = scaled(scaled(x.shape(), cut_dim, 1, ranks), join_dim, ranks, 1);
    const Cut coming = Cut::of(shape, join_dim, ranks);

    Tensor sent = x;
    if (!leaving.in_order()) {
        sent = empty(x.shape(), false);
        const ComputeEvent event(tape.recorder(), tape.allocator(), "cp.pack", unit);
        copy_parts(event.kernels(), x, sent, leaving, false);
    }
    const Tensor joined = empty(shape, coming.in_order());
    group.all_to_all(joined, sent, {}, {}, {.cause = {rule, unit}, .async_op = false});
    if (coming.in_order()) return joined;
    const Tensor result = empty(shape, true);
    const ComputeEvent event(tape.recorder(), tape.allocator(), "cp.unpack", unit);
    copy_parts(event.kernels(), result, joined, coming, true);
    return result;
}

Variable exchange(Tape& tape, Variable x, int cut_dim, int join_dim, comm::ProcessGroup& group, Rules rules) {
    const Tensor result = exchanged(tape, tape.value(x), cut_dim, join_dim, group, rules.forward);
    Tape::Node node;
    node.name = "cp.exchange";
    node.inputs = {x};
    node.backward_input = [x, cut_dim, join_dim, &group, rule = rules.backward](Tape& t, const Tensor& grad) {
        t.accumulate(x, exchanged(t, grad, join_dim, cut_dim, group, rule));
    };
    return tape.append(std::move(node), result, tape.needs_grad(x));
}

/// A head must not be cut itself.
void expect_whole_heads(const Tensor& x, int64_t head_dim, int64_t ranks) {
    if (x.dim(kHeads) % (head_dim * ranks) != 0)
        throw InvalidArgument(
            {"sp.uneven", {{"shape", x.shape()}, {"tensor_dim", int64_t{kHeads}}, {"ranks", ranks}}});
}

}  // namespace

Variable ulysses_attention(Tape& tape, Variable q, Variable k, Variable v, const nn::AttentionForm& form,
                           comm::ProcessGroup& group) {
    for (const Variable x : {q, k}) expect_whole_heads(tape.value(x), form.head_dim, group.size());
    const auto to_heads = [&](Variable x, Rules rules) {
        return exchange(tape, x, kHeads, kTokens, group, rules);
    };
    const Variable all_q = to_heads(q, {"cp.all_to_all.q", "cp.all_to_all.dq"});
    const Variable all_k = to_heads(k, {"cp.all_to_all.k", "cp.all_to_all.dk"});
    const Variable all_v = to_heads(v, {"cp.all_to_all.v", "cp.all_to_all.dv"});
    // Joined in rank order the tokens stand in the sequence's own.
    const Variable mixed = nn::attention(tape, all_q, all_k, all_v, form);
    for (const Variable done : {all_q, all_k, all_v}) tape.release(done);
    const Variable output =
        exchange(tape, mixed, kTokens, kHeads, group, {"cp.all_to_all.o", "cp.all_to_all.do"});
    tape.release(mixed);
    return output;
}

}  // namespace meshscope::parallel
