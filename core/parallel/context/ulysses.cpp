#include "core/parallel/context/ulysses.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/nn/layers/attention.h"
#include "core/parallel/sequence/cut.h"
#include "core/parallel/strategy.h"
#include "core/parallel/tensor/placement.h"
#include "core/tensor/host_access.h"

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
    return tape.append(std::move(node), result);
}

/// Each head of x (batch, tokens, heads · head_dim) `copies` times, one behind the other: x's rows by head
/// are a table that is looked up. Backward: the sum over the copies, first first.
Variable repeated(Tape& tape, Variable x, int64_t head_dim, int64_t copies) {
    const Tensor all = tape.value(x);
    const int64_t rows = all.n_elements() / head_dim;
    const std::string unit(tape.unit());
    const auto empty = [](Tape& t, Shape shape, DType dtype, std::string_view what) {
        return t.allocator().empty(std::move(shape), dtype, MemoryCategory::activations,
                                   std::string(t.unit()) + " " + std::string(what));
    };
    const Tensor indices = empty(tape, {rows * copies}, DType::int64, "head copies");
    tensor::fill_numbers<int64_t>(indices, [&](std::span<int64_t> numbers) {
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) / copies;
    });
    const Tensor result = empty(tape, scaled(all.shape(), kHeads, copies, 1), all.dtype(), "head copies");
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "cp.repeat_heads", unit);
        event->embedding_forward(result.view({rows * copies, head_dim}), all.view({rows, head_dim}), indices);
    }
    Tape::Node node;
    node.name = "cp.repeat_heads";
    node.inputs = {x};
    node.backward_input = [x, indices, rows, copies, head_dim, shape = all.shape(), empty](
                              Tape& t, const Tensor& grad) {
        Tensor sum = empty(t, shape, grad.dtype(), "head copies grad");
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "cp.repeat_heads.backward", t.unit());
            event->embedding_backward(sum.view({rows, head_dim}), grad.view({rows * copies, head_dim}),
                                      indices, false);
        }
        t.accumulate(x, std::move(sum));
    };
    return tape.append(std::move(node), result);
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
    const int64_t kv_heads = tape.value(k).dim(kHeads) / form.head_dim;
    const int64_t copies = kv_copies(kv_heads, group.size());
    const Variable own_k = k, own_v = v;
    if (copies > 1) {
        k = repeated(tape, k, form.head_dim, copies);
        v = repeated(tape, v, form.head_dim, copies);
    }
    for (const Variable x : {q, k}) expect_whole_heads(tape.value(x), form.head_dim, group.size());
    const auto to_heads = [&](Variable x, Rules rules) {
        return exchange(tape, x, kHeads, kTokens, group, rules);
    };
    const Variable all_q = to_heads(q, {"cp.all_to_all.q", "cp.all_to_all.dq"});
    const Variable all_k = to_heads(k, {"cp.all_to_all.k", "cp.all_to_all.dk"});
    const Variable all_v = to_heads(v, {"cp.all_to_all.v", "cp.all_to_all.dv"});
    for (const auto& [copied, own] : {std::pair(k, own_k), std::pair(v, own_v)})
        if (copied.id != own.id) tape.release(copied);
    // Joined in rank order the tokens stand in the sequence's own.
    const Variable mixed = nn::attention(tape, all_q, all_k, all_v, form);
    for (const Variable done : {all_q, all_k, all_v}) tape.release(done);
    const Variable output =
        exchange(tape, mixed, kTokens, kHeads, group, {"cp.all_to_all.o", "cp.all_to_all.do"});
    tape.release(mixed);
    return output;
}

}  // namespace meshscope::parallel
