#include "core/nn/layers/transformer_block.h"

#include <utility>

#include "core/nn/layers/activation.h"

namespace meshscope::nn {
namespace {

/// x + after(branch(before(x))), holding nothing that backward does not need.
Variable residual(Tape& tape, Variable x, const TransformerBlock::Norms& norms, Layer& branch) {
    const Variable normal = norms.before != nullptr ? norms.before->forward(tape, x) : x;
    Variable change = branch.forward(tape, normal);
    if (normal.id != x.id) tape.release(normal);
    if (norms.after != nullptr) {
        const Variable made = change;
        change = norms.after->forward(tape, made);
        tape.release(made);
    }
    const Variable sum = add(tape, x, change);
    tape.release(change);
    return sum;
}

}  // namespace

TransformerBlock::TransformerBlock(std::string name, Norms ln1, Attention* attn, Norms ln2, Layer* mlp)
    : Layer(std::move(name)), ln1_(ln1), attn_(attn), ln2_(ln2), mlp_(mlp) {
    for (Layer* const child : {ln1.before, static_cast<Layer*>(attn), ln1.after, ln2.before, mlp, ln2.after})
        if (child != nullptr) children_.push_back(child);
}

Variable TransformerBlock::compute(Tape& tape, Variable x) {
    const Variable attended = residual(tape, x, ln1_, *attn_);
    const Variable output = residual(tape, attended, ln2_, *mlp_);
    tape.release(attended);
    return output;
}

}  // namespace meshscope::nn
