#include "core/nn/layers/linear.h"

#include <utility>

#include "core/nn/layers/activation.h"
#include "core/nn/layers/common.h"

namespace meshscope::nn {

Linear::Linear(std::string name, Parameter* weight, Parameter* bias)
    : Layer(std::move(name)), weight_(weight), bias_(bias) {
    parameters_.push_back(weight_);
    if (bias_ != nullptr) parameters_.push_back(bias_);
}

void Linear::adapt(const Lora& lora) {
    lora_ = lora;
    children_ = {lora.a, lora.b};
}

Variable Linear::compute(Tape& tape, Variable x) {
    const Variable y = product(tape, x);
    if (lora_.a == nullptr) return y;
    const Variable low = lora_.a->forward(tape, x);
    const Variable high = lora_.b->forward(tape, low);
    tape.release(low);
    const Variable scaled = scale(tape, high, lora_.scaling);
    tape.release(high);
    const Variable sum = add(tape, y, scaled);
    tape.release(y);
    tape.release(scaled);
    return sum;
}

Variable Linear::product(Tape& tape, Variable x) {
    // A copy of the handle: where W is trained its closure keeps the input alive until this node has run
    // backward.
    const Tensor input = tape.value(x);
    Parameter* const bias = bias_after_map_output ? nullptr : bias_;
    Tensor output = tape.reuse();
    if (!output.defined()) {
        output = activation(tape, with_last(input.shape(), weight_->shape[0]), "output", input.dtype());
        const ComputeEvent event(tape.recorder(), tape.allocator(), "linear", name_);
        event->linear_forward(output, input, weight_->value, bias == nullptr ? Tensor() : bias->value);
    }
    tape.keep(output);

    Parameter* const trained_bias = bias != nullptr && bias->needs_grad() ? bias : nullptr;
    const bool trains = weight_->needs_grad();
    Tape::Node node;
    node.name = "linear";
    node.inputs = {x};
    if (trained_bias != nullptr) node.parameters.push_back(trained_bias);
    node.parameters.push_back(weight_);
    node.backward_weight = [this, trained_bias, trains, from = trains ? input : Tensor()](
                               Tape& t, const Tensor& grad_output) {
        Tensor bias_grad, weight_grad;
        if (trained_bias != nullptr) bias_grad = gradient(t, *trained_bias, grad_output.dtype());
        if (trains) weight_grad = gradient(t, *weight_, grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "linear.weight_grad", name_);
            if (trained_bias != nullptr) event->linear_bias_grad(bias_grad, grad_output, false);
            if (trains) event->linear_weight_grad(weight_grad, grad_output, from, false);
        }
        if (trained_bias != nullptr) t.accumulate(*trained_bias, std::move(bias_grad));
        if (trains) t.accumulate(*weight_, std::move(weight_grad));
    };
    if (tape.needs_grad(x)) {
        node.backward_input = [this, x, shape = input.shape()](Tape& t, const Tensor& grad_output) {
            Tensor input_grad = activation(t, shape, "input grad", grad_output.dtype());
            {
                const ComputeEvent event(t.recorder(), t.allocator(), "linear.input_grad", name_);
                event->linear_input_grad(input_grad, grad_output, weight_->value);
            }
            t.accumulate(x, std::move(input_grad));
        };
    }
    return tape.append(std::move(node), std::move(output));
}

Variable Linear::after_map(Tape& tape, Variable x) {
    if (bias_ == nullptr || !bias_after_map_output) return x;
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "bias output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "bias", name_);
        event->add_rows(output, input, bias_->value);
    }
    Tape::Node node;
    node.name = "bias";
    node.inputs = {x};
    node.parameters = {bias_};
    node.backward_weight = [this](Tape& t, const Tensor& grad_output) {
        Tensor bias_grad = gradient(t, *bias_, grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "bias.backward", name_);
            event->linear_bias_grad(bias_grad, grad_output, false);
        }
        t.accumulate(*bias_, std::move(bias_grad));
    };
    node.backward_input = [x](Tape& t, const Tensor& grad_output) { t.accumulate(x, grad_output); };
    tape.release(x);
    return tape.append(std::move(node), output);
}

}  // namespace meshscope::nn
