#include "core/nn/layers/mlp_block.h"

#include <utility>

#include "core/nn/layers/activation.h"

namespace meshscope::nn {

MlpBlock::MlpBlock(std::string name, Linear* up, Linear* down)
    : Layer(std::move(name)), up_(up), down_(down) {
    children_ = {up_, down_};
}

Variable MlpBlock::compute(Tape& tape, Variable x) {
    const Variable wide = up_->forward(tape, x);
    const Variable active = gelu_tanh(tape, wide);
    tape.release(wide);
    const Variable output = down_->forward(tape, active);
    tape.release(active);
    return output;
}

}  // namespace meshscope::nn
