#include "core/nn/layers/activation.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {
namespace {

/// Operations counted for one element of gelu's forward and backward: multiplications, additions and one
/// tanh, which counts as one. A figure for the record's flops, not a measurement.
constexpr int64_t kGeluForwardFlops = 8;
constexpr int64_t kGeluBackwardFlops = 16;
/// The same for silu(gate)·up: one exponential, which counts as one, and what combines it.
constexpr int64_t kSiluMulForwardFlops = 5;
constexpr int64_t kSiluMulBackwardFlops = 11;

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

Variable silu_mul(Tape& tape, Variable gate, Variable up) {
    const Tensor gates = tape.value(gate);
    const Tensor ups = tape.value(up);
    const Tensor output = activation(tape, gates.shape(), "silu_mul output", gates.dtype());
    {
        const ComputeEvent event(tape.recorder(), "silu_mul", tape.unit(),
                                 kSiluMulForwardFlops * gates.n_elements(), 3 * gates.bytes());
        kernels(tape).silu_mul_forward(output, gates, ups);
    }
    Tape::Node node;
    node.name = "silu_mul";
    node.inputs = {gate, up};
    node.backward_input = [gate, up, gates, ups](Tape& t, const Tensor& grad_output) {
        Tensor gate_grad = activation(t, gates.shape(), "silu_mul gate grad", gates.dtype());
        Tensor up_grad = activation(t, ups.shape(), "silu_mul up grad", ups.dtype());
        {
            const ComputeEvent event(t.recorder(), "silu_mul.backward", t.unit(),
                                     kSiluMulBackwardFlops * gates.n_elements(), 5 * gates.bytes());
            kernels(t).silu_mul_backward(gate_grad, up_grad, grad_output, gates, ups);
        }
        t.accumulate(gate, std::move(gate_grad));
        t.accumulate(up, std::move(up_grad));
    };
    return tape.append(std::move(node), output, tape.needs_grad(gate) || tape.needs_grad(up));
}

Variable add_rows(Tape& tape, Variable a, Variable row) {
    const Tensor all = tape.value(a);
    const Tensor one = tape.value(row);
    const Tensor output = activation(tape, all.shape(), "add output", all.dtype());
    {
        const ComputeEvent event(tape.recorder(), "add", tape.unit(), output.n_elements(),
                                 2 * output.bytes() + one.bytes());
        kernels(tape).add_rows(output, all, one);
    }
    Tape::Node node;
    node.name = "add";
    node.inputs = {a, row};
    node.backward_input = [a, row, shape = one.shape()](Tape& t, const Tensor& grad_output) {
        t.accumulate(a, grad_output);
        if (!t.needs_grad(row)) return;
        Tensor row_grad = activation(t, shape, "add row grad", grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), "add.backward", t.unit(), grad_output.n_elements(),
                                     grad_output.bytes() + row_grad.bytes());
            kernels(t).linear_bias_grad(row_grad, grad_output, false);
        }
        t.accumulate(row, std::move(row_grad));
    };
    return tape.append(std::move(node), output, tape.needs_grad(a) || tape.needs_grad(row));
}

}  // namespace meshscope::nn
