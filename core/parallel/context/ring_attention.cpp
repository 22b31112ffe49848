#include "core/parallel/context/ring_attention.h"

#include <string>
#include <utility>

#include "core/nn/layers/attention.h"
#include "core/parallel/context/rotater.h"
#include "core/parallel/strategy.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

using nn::Tape;
using nn::Variable;
using tensor::Shape;

namespace {

const tensor::Kernels& kernels(const Tape& tape) {
    return tape.allocator().device().kernels();
}

Tensor empty(Tape& tape, Shape shape, DType dtype, MemoryCategory category, std::string_view what) {
    return tape.allocator().empty(std::move(shape), dtype, category,
                                  std::string(tape.unit()) + " " + std::string(what));
}

/// Float32 for what is summed over the blocks: `x` itself where it is, else its numbers in memory of its own.
Tensor widened(Tape& tape, const Tensor& x, const tensor::Kernels& kernels) {
    if (x.dtype() == DType::float32) return x;
    const Tensor wide =
        empty(tape, x.shape(), DType::float32, MemoryCategory::temporaries, "attention block");
    kernels.cast(wide, x);
    return wide;
}

/// A sum over the blocks in the type that the layer computes in.
Tensor narrowed(Tape& tape, const Tensor& sum, DType dtype, std::string_view what) {
    if (sum.dtype() == dtype) return sum;
    const Tensor narrow = empty(tape, sum.shape(), dtype, MemoryCategory::activations, what);
    const ComputeEvent event(tape.recorder(), tape.allocator(), "cast", tape.unit());
    event->cast(narrow, sum);
    return narrow;
}

}  // namespace

/// What backward needs.
struct RingAttention::Saved {
    Variable q, k, v;
    Tensor qs, ks, vs;
    Tensor output;
    Tensor lse;
    tensor::AttentionShape shape;
};

/// One rank's keys and values, as they come past.
struct RingAttention::Block {
    Tensor k, v;
    tensor::AttentionShape shape;
};

RingAttention::RingAttention(comm::ProcessGroup& group, ContextMethod method, const TokenCut& cut,
                             Tensor positions)
    : group_(group), method_(method), positions_(std::move(positions)), cut_(cut) {}

void RingAttention::prepare(int64_t window) {
    const auto [pairs, added] = pairs_.try_emplace(window);
    if (!added) return;
    for (int64_t rank = 0; rank < cut_.ranks(); ++rank)
        pairs->second.push_back(cut_.seen_pairs(group_.rank().value, rank, window));
}

RingAttention::Block RingAttention::block(int32_t i, const Tensor& buffer, const Saved& saved) const {
    const int32_t source = (group_.rank().value - i + group_.size()) % group_.size();
    const int64_t n = saved.ks.n_elements();
    Block block{saved.ks, saved.vs, saved.shape};
    if (i > 0) {
        block.k = buffer.slice(0, n).view(saved.ks.shape());
        block.v = buffer.slice(n, n).view(saved.vs.shape());
    }
    const int64_t tokens = saved.shape.q_tokens;
    block.shape.q_positions = positions_.slice(group_.rank().value * tokens, tokens);
    block.shape.k_positions = positions_.slice(source * tokens, tokens);
    block.shape.n_pairs = pairs_.at(saved.shape.window)[static_cast<std::size_t>(source)];
    return block;
}

Tensor RingAttention::packed(Tape& tape, const Saved& saved) const {
    const int64_t n = saved.ks.n_elements();
    const Tensor buffer =
        empty(tape, {2 * n}, saved.ks.dtype(), MemoryCategory::communication, "keys and values");
    const ComputeEvent event(tape.recorder(), tape.allocator(), "cp.pack", tape.unit());
    event->copy(buffer.slice(0, n), saved.ks.flat());
    event->copy(buffer.slice(n, n), saved.vs.flat());
    return buffer;
}

Variable RingAttention::operator()(Tape& tape, Variable q, Variable k, Variable v,
                                   const nn::AttentionForm& form) const {
    Saved saved{q, k, v, tape.value(q), tape.value(k), tape.value(v), {}, {}, {}};
    saved.shape = nn::attention_shape(saved.qs, saved.ks, form);
    saved.output = tape.reuse();
    saved.lse = tape.reuse();
    if (!saved.output.defined()) forward(tape, saved);
    tape.keep(saved.output);
    tape.keep(saved.lse);
    const Tensor output = saved.output;
    Tape::Node node;
    node.name = "cp.ring_attention";
    node.inputs = {q, k, v};
    node.backward_input = [this, saved = std::move(saved)](Tape& t, const Tensor& grad) {
        backward(t, saved, grad);
    };
    return tape.append(std::move(node), output);
}

void RingAttention::forward(Tape& tape, Saved& saved) const {
    const tensor::AttentionShape& whole = saved.shape;
    const DType dtype = saved.qs.dtype();
    const Shape rows{whole.batch, whole.heads, whole.q_tokens};
    saved.output = empty(tape, saved.qs.shape(), dtype, MemoryCategory::activations, "attention output");
    saved.lse = empty(tape, rows, DType::float32, MemoryCategory::activations, "attention log-sum-exp");
    const bool gathers = method_ == ContextMethod::allgather;
    Rotater rotater(tape, group_, method_, gathers ? "cp.all_gather.kv" : "cp.permute.kv", "keys and values");
    Tensor sum, buffer = packed(tape, saved);
    for (int32_t i = 0; i < group_.size(); ++i) {
        if (i > 0) buffer = rotater.next();
        if (i + 1 < group_.size()) rotater.exchange(buffer);
        const Block b = block(i, buffer, saved);
        if (b.shape.n_pairs == 0) continue;  // all masked
        Tensor output = saved.output, lse = saved.lse;
        if (i > 0) {
            output = empty(tape, saved.qs.shape(), dtype, MemoryCategory::temporaries, "attention block");
            lse = empty(tape, rows, DType::float32, MemoryCategory::temporaries, "attention block");
        }
        {
            const ComputeEvent event(tape.recorder(), tape.allocator(), "attention", tape.unit());
            event->attention_forward(output, lse, saved.qs, b.k, b.v, b.shape);
        }
        if (i == 0) {  // the diagonal: every query sees itself
            sum = widened(tape, output, kernels(tape));
            continue;
        }
        const ComputeEvent event(tape.recorder(), tape.allocator(), "attention.merge", tape.unit());
        event->attention_merge(sum, saved.lse, widened(tape, output, event.kernels()), lse, whole);
    }
    if (dtype != DType::float32) {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "cast", tape.unit());
        event->cast(saved.output, sum);
    }
}

void RingAttention::backward(Tape& tape, const Saved& saved, const Tensor& grad) const {
    const DType dtype = saved.qs.dtype();
    const bool wide = dtype == DType::float32;
    const int64_t n = saved.ks.n_elements();
    const bool gathers = method_ == ContextMethod::allgather;
    Rotater kv_rotater(tape, group_, method_, gathers ? "cp.all_gather.kv_again" : "cp.permute.kv_again",
                       "keys and values");
    // The gradients are different on every rank they pass: gathering cannot replace the ring here.
    Rotater grad_rotater(tape, group_, ContextMethod::alltoall, "cp.permute.dkv", "key and value grads");
    const Tensor dq =
        empty(tape, saved.qs.shape(), DType::float32,
              wide ? MemoryCategory::activations : MemoryCategory::temporaries, "attention query grad");
    Tensor dkv = empty(tape, {2 * n}, DType::float32, MemoryCategory::communication, "key and value grads");
    Tensor buffer = packed(tape, saved);
    for (int32_t i = 0; i < group_.size(); ++i) {
        if (i > 0) buffer = kv_rotater.next();
        if (i + 1 < group_.size()) kv_rotater.exchange(buffer);
        const Block b = block(i, buffer, saved);
        const bool in_place = i == 0 && wide;
        Tensor dq_block = dq, dk_block = dkv.slice(0, n), dv_block = dkv.slice(n, n);
        if (b.shape.n_pairs > 0) {
            if (!in_place) {
                const auto part = [&](const Shape& shape) {
                    return empty(tape, shape, dtype, MemoryCategory::temporaries, "attention block grad");
                };
                dq_block = part(saved.qs.shape());
                dk_block = part({n});
                dv_block = part({n});
            }
            const ComputeEvent event(tape.recorder(), tape.allocator(), "attention.backward", tape.unit());
            event->attention_backward(dq_block, dk_block, dv_block, grad, saved.qs, b.k, b.v, saved.output,
                                      saved.lse, b.shape);
        }
        if (i > 0) dkv = grad_rotater.next();
        if (b.shape.n_pairs > 0 && !in_place) {
            const ComputeEvent event(tape.recorder(), tape.allocator(), "grad_sum", tape.unit());
            const auto add = [&](const Tensor& sum, const Tensor& more) {
                if (i == 0)
                    event->cast(sum, more);
                else
                    event->add(sum, sum, widened(tape, more, event.kernels()));
            };
            add(dq, dq_block);
            add(dkv.slice(0, n), dk_block);
            add(dkv.slice(n, n), dv_block);
        }
        grad_rotater.exchange(dkv);
    }
    dkv = grad_rotater.next();
    tape.accumulate(saved.q, narrowed(tape, dq, dtype, "attention query grad"));
    tape.accumulate(saved.k, narrowed(tape, dkv.slice(0, n).view(saved.ks.shape()), dtype, "key grad"));
    tape.accumulate(saved.v, narrowed(tape, dkv.slice(n, n).view(saved.vs.shape()), dtype, "value grad"));
}

}  // namespace meshscope::parallel
