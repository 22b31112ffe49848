#include "core/nn/layers/attention.h"

#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/nn/layers/common.h"
#include "core/nn/layers/eager.h"

namespace meshscope::nn {
namespace {

/// (batch, tokens, heads · head_dim); throws InvalidArgument ("kernel.shape") where x is not that.
void expect_heads(std::string_view kernel, const Tensor& x, int64_t head_dim) {
    if (x.shape().size() != 3 || head_dim < 1 || x.dim(2) % head_dim != 0)
        throw InvalidArgument(
            {"kernel.shape",
             {{"kernel", std::string(kernel)}, {"shape", x.shape()}, {"wanted", Shape{-1, -1, head_dim}}}});
}

}  // namespace

tensor::AttentionShape attention_shape(const Tensor& q, const Tensor& k, const AttentionForm& form) {
    const int64_t head_dim = form.head_dim;
    expect_heads("attention", q, head_dim);
    expect_heads("attention", k, head_dim);
    tensor::AttentionShape shape;
    shape.batch = q.dim(0);
    shape.q_tokens = q.dim(1);
    shape.k_tokens = k.dim(1);
    shape.heads = q.dim(2) / head_dim;
    shape.kv_heads = k.dim(2) / head_dim;
    shape.head_dim = head_dim;
    shape.window = form.window;
    shape.scale = form.scale > 0 ? form.scale : 1.0 / std::sqrt(static_cast<double>(head_dim));
    return shape;
}

Variable attention(Tape& tape, Variable q, Variable k, Variable v, const AttentionForm& form,
                   const Positions& positions) {
    const Tensor qs = tape.value(q);
    const Tensor ks = tape.value(k);
    const Tensor vs = tape.value(v);
    tensor::AttentionShape shape = attention_shape(qs, ks, form);
    shape.q_positions = shape.k_positions = positions.tokens;
    Tensor output = tape.reuse();
    Tensor lse = tape.reuse();
    if (!output.defined()) {
        output = activation(tape, qs.shape(), "attention output", qs.dtype());
        lse = activation(tape, {shape.batch, shape.heads, shape.q_tokens}, "attention log-sum-exp");
        const ComputeEvent event(tape.recorder(), tape.allocator(), "attention", tape.unit());
        event->attention_forward(output, lse, qs, ks, vs, shape);
    }
    tape.keep(output);
    tape.keep(lse);
    Tape::Node node;
    node.name = "attention";
    node.inputs = {q, k, v};
    node.backward_input = [q, k, v, qs, ks, vs, output, lse, shape](Tape& t, const Tensor& grad_output) {
        Tensor dq = activation(t, qs.shape(), "attention query grad", grad_output.dtype());
        Tensor dk = activation(t, ks.shape(), "attention key grad", grad_output.dtype());
        Tensor dv = activation(t, vs.shape(), "attention value grad", grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "attention.backward", t.unit());
            event->attention_backward(dq, dk, dv, grad_output, qs, ks, vs, output, lse, shape);
        }
        t.accumulate(q, std::move(dq));
        t.accumulate(k, std::move(dk));
        t.accumulate(v, std::move(dv));
    };
    return tape.append(std::move(node), output);
}

Variable rotary(Tape& tape, Variable x, int64_t head_dim, const RotaryForm& form,
                const Positions& positions) {
    const Tensor input = tape.value(x);
    expect_heads("rotary", input, head_dim);
    const tensor::RotaryShape shape{.batch = input.dim(0),
                                    .tokens = input.dim(1),
                                    .heads = input.dim(2) / head_dim,
                                    .head_dim = head_dim,
                                    .theta = form.theta,
                                    .first_position = positions.first,
                                    .positions = positions.tokens,
                                    .halves = form.halves,
                                    .scaling = form.scaling};
    const Tensor output = activation(tape, input.shape(), "rotary output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "rotary", tape.unit());
        event->rotary(output, input, shape, false);
    }
    Tape::Node node;
    node.name = "rotary";
    node.inputs = {x};
    node.backward_input = [x, shape](Tape& t, const Tensor& grad_output) {
        Tensor input_grad = activation(t, grad_output.shape(), "rotary input grad", grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "rotary.backward", t.unit());
            event->rotary(input_grad, grad_output, shape, true);
        }
        t.accumulate(x, std::move(input_grad));
    };
    return tape.append(std::move(node), output);
}

Attention::Attention(std::string name, Parts parts, AttentionForm form, std::optional<RotaryForm> rope,
                     const Positions* positions)
    : Layer(std::move(name)), parts_(parts), form_(form), rope_(rope), positions_(positions) {
    children_ = {parts.wq, parts.wk, parts.wv, parts.wo};
    for (RmsNorm* const norm : {parts.q_norm, parts.k_norm})
        if (norm != nullptr) children_.push_back(norm);
}

Variable Attention::compute(Tape& tape, Variable x) {
    Variable q = parts_.wq->forward(tape, x);
    Variable k = parts_.wk->forward(tape, x);
    const Variable v = parts_.wv->forward(tape, x);
    const auto replace = [&tape](Variable& old, Variable by) {
        tape.release(old);
        old = by;
    };
    if (parts_.q_norm != nullptr) replace(q, parts_.q_norm->forward(tape, q));
    if (parts_.k_norm != nullptr) replace(k, parts_.k_norm->forward(tape, k));
    if (rope_)
        for (Variable* turned : {&q, &k})
            replace(*turned, eager ? eager_rotary(tape, *turned, form_.head_dim, rope_->halves)
                                   : rotary(tape, *turned, form_.head_dim, *rope_, *positions_));
    const Variable mixed = core ? core(tape, q, k, v) : attention(tape, q, k, v, form_, *positions_);
    for (const Variable done : {q, k, v})
        if (done.id != mixed.id) tape.release(done);
    const Variable output = parts_.wo->forward(tape, mixed);
    tape.release(mixed);
    return output;
}

}  // namespace meshscope::nn
