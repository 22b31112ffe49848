#include "core/nn/layers/activation.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {
namespace {

/// Operations counted for one element of gelu's forward and backward: multiplications, additions and one
/// tanh, which counts as one. A figure for the record's flops, not a measurement.
constexpr int64_t kGeluForwardFlops = 8;
constexpr int64_t kGeluBackwardFlops = 16;

}  // namespace

Variable relu(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "relu output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), "relu", tape.unit(), input.n_elements(), 2 * input.bytes());
        kernels(tape).relu_forward(output, input);
    }
    Tape::Node node;
    node.name = "relu";
    node.inputs = {x};
    node.backward_input = [x, output](Tape& t, const Tensor& grad_output) {
        Tensor input_grad = activation(t, output.shape(), "relu input grad", output.dtype());
        {
            const ComputeEvent event(t.recorder(), "relu.backward", t.unit(), output.n_elements(),
                                     3 * output.bytes());
            kernels(t).relu_backward(input_grad, grad_output, output);
        }
        t.accumulate(x, std::move(input_grad));
    };
    return tape.append(std::move(node), output, tape.needs_grad(x));
}

Variable gelu_tanh(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "gelu_tanh output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), "gelu_tanh", tape.unit(),
                                 kGeluForwardFlops * input.n_elements(), 2 * input.bytes());
        kernels(tape).gelu_tanh_forward(output, input);
    }
    Tape::Node node;
    node.name = "gelu_tanh";
    node.inputs = {x};
    node.backward_input = [x, input](Tape& t, const Tensor& grad_output) {
        Tensor input_grad = activation(t, input.shape(), "gelu_tanh input grad", input.dtype());
        {
            const ComputeEvent event(t.recorder(), "gelu_tanh.backward", t.unit(),
                                     kGeluBackwardFlops * input.n_elements(), 3 * input.bytes());
            kernels(t).gelu_tanh_backward(input_grad, grad_output, input);
        }
        t.accumulate(x, std::move(input_grad));
    };
    return tape.append(std::move(node), output, tape.needs_grad(x));
}

Variable add(Tape& tape, Variable a, Variable b) {
    const Tensor output = activation(tape, tape.value(a).shape(), "add output", tape.value(a).dtype());
    {
        const ComputeEvent event(tape.recorder(), "add", tape.unit(), output.n_elements(),
                                 3 * output.bytes());
        kernels(tape).add(output, tape.value(a), tape.value(b));
    }
    Tape::Node node;
    node.name = "add";
    node.inputs = {a, b};
    node.backward_input = [a, b](Tape& t, const Tensor& grad_output) {
        t.accumulate(a, grad_output);
        t.accumulate(b, grad_output);
    };
    return tape.append(std::move(node), output, tape.needs_grad(a) || tape.needs_grad(b));
}

}  // namespace meshscope::nn
