#include "core/nn/layers/transformer_block.h"

#include <utility>

#include "core/nn/layers/activation.h"

namespace meshscope::nn {
namespace {

/// x + branch(norm(x)), holding nothing that backward does not need.
Variable residual(Tape& tape, Variable x, Layer& norm, Layer& branch) {
    const Variable normal = norm.forward(tape, x);
    const Variable change = branch.forward(tape, normal);
    tape.release(normal);
    const Variable sum = add(tape, x, change);
    tape.release(change);
    return sum;
}

}  // namespace

TransformerBlock::TransformerBlock(std::string name, Layer* ln1, Attention* attn, Layer* ln2, Layer* mlp)
    : Layer(std::move(name)), ln1_(ln1), attn_(attn), ln2_(ln2), mlp_(mlp) {
    children_ = {ln1_, attn_, ln2_, mlp_};
}

Variable TransformerBlock::compute(Tape& tape, Variable x) {
    const Variable attended = residual(tape, x, *ln1_, *attn_);
    const Variable output = residual(tape, attended, *ln2_, *mlp_);
    tape.release(attended);
    return output;
}

}  // namespace meshscope::nn
