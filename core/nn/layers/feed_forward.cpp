#include "core/nn/layers/feed_forward.h"

#include <utility>

#include "core/nn/layers/activation.h"

namespace meshscope::nn {

MlpBlock::MlpBlock(std::string name, Linear* up, Linear* down, BatchNorm* norm)
    : Layer(std::move(name)), up_(up), down_(down), norm_(norm) {
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
    const Variable active = gelu_tanh(tape, wide);
    tape.release(wide);
    const Variable output = down_->forward(tape, active);
    tape.release(active);
    return output;
}

SwiGlu::SwiGlu(std::string name, Linear* gate, Linear* up, Linear* down)
    : Layer(std::move(name)), gate_(gate), up_(up), down_(down) {
    children_ = {gate_, up_, down_};
}

Variable SwiGlu::compute(Tape& tape, Variable x) {
    const Variable gate = gate_->forward(tape, x);
    const Variable up = up_->forward(tape, x);
    const Variable active = silu_mul(tape, gate, up);
    tape.release(gate);
    tape.release(up);
    const Variable output = down_->forward(tape, active);
    tape.release(active);
    return output;
}

}  // namespace meshscope::nn
