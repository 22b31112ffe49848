#include "core/nn/layers.h"

#include <string_view>
#include <utility>

#include "core/nn/compute_event.h"
#include "core/tensor/kernels.h"

namespace meshscope::nn {
namespace {

/// Operations counted for one element of gelu's forward and backward: multiplications, additions and one
/// tanh, which counts as one. A figure for the record's flops, not a measurement.
constexpr int64_t kGeluForwardFlops = 8;
constexpr int64_t kGeluBackwardFlops = 16;

const tensor::Kernels& kernels(const Tape& tape) {
    return tape.allocator().device().kernels();
}

/// What the memory view calls a tensor: "layers.0 gelu_tanh output", and "relu output" outside of all
/// modules.
std::string label(const Tape& tape, std::string_view what) {
    std::string text(tape.unit());
    if (!text.empty()) text += ' ';
    return text.append(what);
}

Tensor activation(Tape& tape, Shape shape, std::string_view what) {
    return tape.allocator().empty(std::move(shape), DType::float32, MemoryCategory::activations,
                                  label(tape, what));
}

}  // namespace

Linear::Linear(std::string name, Parameter* weight, Parameter* bias)
    : Module(std::move(name)), weight_(weight), bias_(bias) {
    parameters_.push_back(weight_);
    if (bias_ != nullptr) parameters_.push_back(bias_);
}

Variable Linear::forward(Tape& tape, Variable x) {
    tape.enter(*this);
    // A copy of the handle: the closures keep the input alive until this node has run backward.
    const Tensor input = tape.value(x);
    const int64_t inputs = weight_->shape[1];
    const int64_t outputs = weight_->shape[0];
    const int64_t rows = inputs == 0 ? 0 : input.n_elements() / inputs;
    const int64_t flops = 2 * rows * inputs * outputs;
    const int64_t matrix_bytes =
        static_cast<int64_t>(sizeof(float)) * (rows * inputs + inputs * outputs + rows * outputs);

    Shape output_shape = input.shape();
    if (!output_shape.empty()) output_shape.back() = outputs;
    const Tensor output = activation(tape, std::move(output_shape), "output");
    {
        const ComputeEvent event(tape.recorder(), "linear", name_, flops, matrix_bytes);
        kernels(tape).linear_forward(output, input, weight_->value,
                                     bias_ == nullptr ? Tensor() : bias_->value);
    }

    Tape::Node node;
    node.name = "linear";
    node.inputs = {x};
    if (bias_ != nullptr) node.parameters.push_back(bias_);
    node.parameters.push_back(weight_);
    node.backward_weight = [this, input, flops, matrix_bytes](Tape& t, const Tensor& grad_output) {
        tensor::Allocator& memory = t.allocator();
        Tensor bias_grad;
        if (bias_ != nullptr)
            bias_grad =
                memory.empty(bias_->shape, DType::float32, MemoryCategory::gradients, bias_->name + " grad");
        Tensor weight_grad =
            memory.empty(weight_->shape, DType::float32, MemoryCategory::gradients, weight_->name + " grad");
        {
            const int64_t bias_flops = bias_ == nullptr ? 0 : grad_output.n_elements();
            const ComputeEvent event(t.recorder(), "linear.weight_grad", name_, flops + bias_flops,
                                     matrix_bytes);
            if (bias_ != nullptr) kernels(t).linear_bias_grad(bias_grad, grad_output, false);
            kernels(t).linear_weight_grad(weight_grad, grad_output, input, false);
        }
        if (bias_ != nullptr) t.accumulate(*bias_, std::move(bias_grad));
        t.accumulate(*weight_, std::move(weight_grad));
    };
    const bool input_needs_grad = tape.needs_grad(x);
    if (input_needs_grad) {
        node.backward_input = [this, x, shape = input.shape(), flops, matrix_bytes](
                                  Tape& t, const Tensor& grad_output) {
            Tensor input_grad = activation(t, shape, "input grad");
            {
                const ComputeEvent event(t.recorder(), "linear.input_grad", name_, flops, matrix_bytes);
                kernels(t).linear_input_grad(input_grad, grad_output, weight_->value);
            }
            t.accumulate(x, std::move(input_grad));
        };
    }
    const Variable result = tape.append(std::move(node), output, true);
    tape.leave(*this);
    return result;
}

Variable relu(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "relu output");
    {
        const ComputeEvent event(tape.recorder(), "relu", tape.unit(), input.n_elements(), 2 * input.bytes());
        kernels(tape).relu_forward(output, input);
    }
    Tape::Node node;
    node.name = "relu";
    node.inputs = {x};
    node.backward_input = [x, output](Tape& t, const Tensor& grad_output) {
        Tensor input_grad = activation(t, output.shape(), "relu input grad");
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
    const Tensor output = activation(tape, input.shape(), "gelu_tanh output");
    {
        const ComputeEvent event(tape.recorder(), "gelu_tanh", tape.unit(),
                                 kGeluForwardFlops * input.n_elements(), 2 * input.bytes());
        kernels(tape).gelu_tanh_forward(output, input);
    }
    Tape::Node node;
    node.name = "gelu_tanh";
    node.inputs = {x};
    node.backward_input = [x, input](Tape& t, const Tensor& grad_output) {
        Tensor input_grad = activation(t, input.shape(), "gelu_tanh input grad");
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
    const Tensor output = activation(tape, tape.value(a).shape(), "add output");
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

Variable mse(Tape& tape, Variable prediction, const Tensor& target) {
    const Tensor input = tape.value(prediction);
    const Tensor loss = activation(tape, {1}, "loss");
    {
        const ComputeEvent event(tape.recorder(), "mse", tape.unit(), 3 * input.n_elements(),
                                 2 * input.bytes());
        kernels(tape).mse_forward(loss, input, target);
    }
    Tape::Node node;
    node.name = "mse";
    node.inputs = {prediction};
    node.backward_input = [prediction, input, target](Tape& t, const Tensor& grad_loss) {
        Tensor input_grad = activation(t, input.shape(), "mse input grad");
        {
            const ComputeEvent event(t.recorder(), "mse.backward", t.unit(), 2 * input.n_elements(),
                                     3 * input.bytes());
            kernels(t).mse_backward(input_grad, grad_loss, input, target);
        }
        t.accumulate(prediction, std::move(input_grad));
    };
    return tape.append(std::move(node), loss, tape.needs_grad(prediction));
}

}  // namespace meshscope::nn
