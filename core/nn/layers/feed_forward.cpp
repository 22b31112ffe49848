#include "core/nn/layers/feed_forward.h"

#include <utility>

#include "core/base/error.h"
#include "core/nn/layers/activation.h"
#include "core/nn/layers/eager.h"

namespace meshscope::nn {

namespace {

/// Of those that are one kernel.
Variable activated(Tape& tape, Variable x, Activation activation) {
    switch (activation) {
        case Activation::relu:
            return relu(tape, x);
        case Activation::gelu:
            return gelu(tape, x);
        case Activation::gelu_tanh:
            return gelu_tanh(tape, x);
        case Activation::silu:
            break;  // with a gate, and one kernel with it
    }
    throw InvalidArgument({"nn.silu_without_gate", {}});
}

}  // namespace

MlpBlock::MlpBlock(std::string name, Linear* up, Linear* down, BatchNorm* norm, Activation activation)
    : Layer(std::move(name)), up_(up), down_(down), norm_(norm), activation_(activation) {
    children_ = {up_};
    if (norm_ != nullptr) children_.push_back(norm_);
    children_.push_back(down_);
}

Variable MlpBlock::compute(Tape& tape, Variable x) {
    Variable wide = up_->forward(tape, x);
    if (norm_ != nullptr) {
        const Variable normed = norm_->forward(tape, wide);
        tape.release(wide);
        wide = normed;
    }
    const Variable active = activated(tape, wide, activation_);
    tape.release(wide);
    const Variable output = down_->forward(tape, active);
    tape.release(active);
    return output;
}

GatedMlp::GatedMlp(std::string name, Linear* gate, Linear* up, Linear* down, Activation activation)
    : Layer(std::move(name)), gate_(gate), up_(up), down_(down), activation_(activation) {
    children_ = {gate_, up_, down_};
}

Variable GatedMlp::gated(Tape& tape, Variable gate, Variable up) const {
    const bool is_silu = activation_ == Activation::silu;
    if (is_silu && !eager) return silu_mul(tape, gate, up);
    const Variable open = is_silu ? eager_silu(tape, gate) : activated(tape, gate, activation_);
    const Variable product = multiply(tape, open, up);
    tape.release(open);
    return product;
}

Variable GatedMlp::compute(Tape& tape, Variable x) {
    const Variable gate = gate_->forward(tape, x);
    const Variable up = up_->forward(tape, x);
    const Variable active = gated(tape, gate, up);
    tape.release(gate);
    tape.release(up);
    const Variable output = down_->forward(tape, active);
    tape.release(active);
    return output;
}

}  // namespace meshscope::nn
