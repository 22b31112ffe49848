#include "core/nn/layers/activation.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {
Variable relu(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "relu output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "relu", tape.unit());
        event->relu_forward(output, input);
    }
    Tape::Node node;
    node.name = "relu";
    node.inputs = {x};
    node.backward_input = [x, output](Tape& t, const Tensor& grad_output) {
        Tensor input_grad = activation(t, output.shape(), "relu input grad", output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "relu.backward", t.unit());
            event->relu_backward(input_grad, grad_output, output);
        }
        t.accumulate(x, std::move(input_grad));
    };
    return tape.append(std::move(node), output);
}

namespace {

/// gelu by erf, or by its approximation with tanh.
Variable gelu_of(Tape& tape, Variable x, bool by_tanh) {
    const Tensor input = tape.value(x);
    const Tensor output =
        activation(tape, input.shape(), by_tanh ? "gelu_tanh output" : "gelu output", input.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), by_tanh ? "gelu_tanh" : "gelu",
                                 tape.unit());
        by_tanh ? event->gelu_tanh_forward(output, input) : event->gelu_forward(output, input);
    }
    Tape::Node node;
    node.name = by_tanh ? "gelu_tanh" : "gelu";
    node.inputs = {x};
    node.backward_input = [x, input, by_tanh](Tape& t, const Tensor& grad_output) {
        Tensor input_grad =
            activation(t, input.shape(), by_tanh ? "gelu_tanh input grad" : "gelu input grad", input.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(),
                                     by_tanh ? "gelu_tanh.backward" : "gelu.backward", t.unit());
            by_tanh ? event->gelu_tanh_backward(input_grad, grad_output, input)
                    : event->gelu_backward(input_grad, grad_output, input);
        }
        t.accumulate(x, std::move(input_grad));
    };
    return tape.append(std::move(node), output);
}

}  // namespace

Variable gelu_tanh(Tape& tape, Variable x) {
    return gelu_of(tape, x, true);
}

Variable gelu(Tape& tape, Variable x) {
    return gelu_of(tape, x, false);
}

Variable multiply(Tape& tape, Variable a, Variable b) {
    const Tensor left = tape.value(a);
    const Tensor right = tape.value(b);
    const Tensor output = activation(tape, left.shape(), "multiply output", left.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "multiply", tape.unit());
        event->multiply(output, left, right);
    }
    Tape::Node node;
    node.name = "multiply";
    node.inputs = {a, b};
    node.backward_input = [a, b, left, right](Tape& t, const Tensor& grad_output) {
        Tensor left_grad, right_grad;
        if (t.needs_grad(a)) left_grad = activation(t, left.shape(), "multiply left grad", left.dtype());
        if (t.needs_grad(b)) right_grad = activation(t, right.shape(), "multiply right grad", right.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "multiply.backward", t.unit());
            if (left_grad.defined()) event->multiply(left_grad, grad_output, right);
            if (right_grad.defined()) event->multiply(right_grad, grad_output, left);
        }
        t.accumulate(a, std::move(left_grad));
        t.accumulate(b, std::move(right_grad));
    };
    return tape.append(std::move(node), output);
}

Variable scale(Tape& tape, Variable x, float factor) {
    const auto scaled = [factor](Tape& t, const Tensor& from, bool backward) {
        Tensor result =
            activation(t, from.shape(), backward ? "scale input grad" : "scale output", from.dtype());
        const ComputeEvent event(t.recorder(), t.allocator(), backward ? "scale.backward" : "scale",
                                 t.unit());
        event->copy(result, from);
        event->scale(result, factor);
        return result;
    };
    const Tensor output = scaled(tape, tape.value(x), false);
    Tape::Node node;
    node.name = "scale";
    node.inputs = {x};
    node.backward_input = [x, scaled](Tape& t, const Tensor& grad_output) {
        t.accumulate(x, scaled(t, grad_output, true));
    };
    return tape.append(std::move(node), output);
}

Variable add(Tape& tape, Variable a, Variable b) {
    const Tensor output = activation(tape, tape.value(a).shape(), "add output", tape.value(a).dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "add", tape.unit());
        event->add(output, tape.value(a), tape.value(b));
    }
    Tape::Node node;
    node.name = "add";
    node.inputs = {a, b};
    node.backward_input = [a, b](Tape& t, const Tensor& grad_output) {
        t.accumulate(a, grad_output);
        t.accumulate(b, grad_output);
    };
    return tape.append(std::move(node), output);
}

Variable silu_mul(Tape& tape, Variable gate, Variable up) {
    const Tensor gates = tape.value(gate);
    const Tensor ups = tape.value(up);
    const Tensor output = activation(tape, gates.shape(), "silu_mul output", gates.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "silu_mul", tape.unit());
        event->silu_mul_forward(output, gates, ups);
    }
    Tape::Node node;
    node.name = "silu_mul";
    node.inputs = {gate, up};
    node.backward_input = [gate, up, gates, ups](Tape& t, const Tensor& grad_output) {
        Tensor gate_grad = activation(t, gates.shape(), "silu_mul gate grad", gates.dtype());
        Tensor up_grad = activation(t, ups.shape(), "silu_mul up grad", ups.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "silu_mul.backward", t.unit());
            event->silu_mul_backward(gate_grad, up_grad, grad_output, gates, ups);
        }
        t.accumulate(gate, std::move(gate_grad));
        t.accumulate(up, std::move(up_grad));
    };
    return tape.append(std::move(node), output);
}

Variable add_rows(Tape& tape, Variable a, Variable row) {
    const Tensor all = tape.value(a);
    const Tensor one = tape.value(row);
    const Tensor output = activation(tape, all.shape(), "add output", all.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "add", tape.unit());
        event->add_rows(output, all, one);
    }
    Tape::Node node;
    node.name = "add";
    node.inputs = {a, row};
    node.backward_input = [a, row, shape = one.shape()](Tape& t, const Tensor& grad_output) {
        t.accumulate(a, grad_output);
        if (!t.needs_grad(row)) return;
        Tensor row_grad = activation(t, shape, "add row grad", grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "add.backward", t.unit());
            event->linear_bias_grad(row_grad, grad_output, false);
        }
        t.accumulate(row, std::move(row_grad));
    };
    return tape.append(std::move(node), output);
}

}  // namespace meshscope::nn
