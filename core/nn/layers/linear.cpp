#include "core/nn/layers/linear.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {

Linear::Linear(std::string name, Parameter* weight, Parameter* bias)
    : Layer(std::move(name)), weight_(weight), bias_(bias) {
    parameters_.push_back(weight_);
    if (bias_ != nullptr) parameters_.push_back(bias_);
}

Variable Linear::compute(Tape& tape, Variable x) {
    // A copy of the handle: the closures keep the input alive until this node has run backward.
    const Tensor input = tape.value(x);
    Parameter* const bias = bias_after_map_output ? nullptr : bias_;
    const int64_t inputs = weight_->shape[1];
    const int64_t outputs = weight_->shape[0];
    const int64_t rows = inputs == 0 ? 0 : input.n_elements() / inputs;
    const int64_t flops = 2 * rows * inputs * outputs;
    const int64_t matrix_bytes =
        bytes_per_element(input.dtype()) * (rows * inputs + inputs * outputs + rows * outputs);

    Tensor output = tape.reuse();
    if (!output.defined()) {
        output = activation(tape, with_last(input.shape(), outputs), "output", input.dtype());
        const ComputeEvent event(tape.recorder(), "linear", name_, flops, matrix_bytes);
        kernels(tape).linear_forward(output, input, weight_->value, bias == nullptr ? Tensor() : bias->value);
    }
    tape.keep(output);

    Tape::Node node;
    node.name = "linear";
    node.inputs = {x};
    if (bias != nullptr) node.parameters.push_back(bias);
    node.parameters.push_back(weight_);
    node.backward_weight = [this, bias, input, flops, matrix_bytes](Tape& t, const Tensor& grad_output) {
        Tensor bias_grad;
        if (bias != nullptr) bias_grad = gradient(t, *bias, grad_output.dtype());
        Tensor weight_grad = gradient(t, *weight_, grad_output.dtype());
        {
            const int64_t bias_flops = bias == nullptr ? 0 : grad_output.n_elements();
            const ComputeEvent event(t.recorder(), "linear.weight_grad", name_, flops + bias_flops,
                                     matrix_bytes);
            if (bias != nullptr) kernels(t).linear_bias_grad(bias_grad, grad_output, false);
            kernels(t).linear_weight_grad(weight_grad, grad_output, input, false);
        }
        if (bias != nullptr) t.accumulate(*bias, std::move(bias_grad));
        t.accumulate(*weight_, std::move(weight_grad));
    };
    if (tape.needs_grad(x)) {
        node.backward_input = [this, x, shape = input.shape(), flops, matrix_bytes](
                                  Tape& t, const Tensor& grad_output) {
            Tensor input_grad = activation(t, shape, "input grad", grad_output.dtype());
            {
                const ComputeEvent event(t.recorder(), "linear.input_grad", name_, flops, matrix_bytes);
                kernels(t).linear_input_grad(input_grad, grad_output, weight_->value);
            }
            t.accumulate(x, std::move(input_grad));
        };
    }
    return tape.append(std::move(node), std::move(output), true);
}

Variable Linear::after_map(Tape& tape, Variable x) {
    if (bias_ == nullptr || !bias_after_map_output) return x;
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "bias output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), "bias", name_, input.n_elements(), 2 * input.bytes());
        kernels(tape).add_rows(output, input, bias_->value);
    }
    Tape::Node node;
    node.name = "bias";
    node.inputs = {x};
    node.parameters = {bias_};
    node.backward_weight = [this](Tape& t, const Tensor& grad_output) {
        Tensor bias_grad = gradient(t, *bias_, grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), "bias.backward", name_, grad_output.n_elements(),
                                     grad_output.bytes());
            kernels(t).linear_bias_grad(bias_grad, grad_output, false);
        }
        t.accumulate(*bias_, std::move(bias_grad));
    };
    node.backward_input = [x](Tape& t, const Tensor& grad_output) { t.accumulate(x, grad_output); };
    tape.release(x);
    return tape.append(std::move(node), output, true);
}

}  // namespace meshscope::nn
