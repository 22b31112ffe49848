#include "core/nn/layers/norm.h"

#include <utility>

#include "core/nn/layers/common.h"
#include "core/nn/layers/eager.h"

namespace meshscope::nn {
namespace {

/// One number for each row of `x`, or for each `width` elements of a row.
Tensor row_figures(Tape& tape, const Tensor& x, int64_t width, std::string_view what) {
    Shape shape = x.shape();
    if (!shape.empty() && width > 0 && shape.back() != width && shape.back() % width == 0)
        shape.back() /= width;
    else if (!shape.empty())
        shape.pop_back();
    return activation(tape, std::move(shape), what);
}

}  // namespace

LayerNorm::LayerNorm(std::string name, Parameter* weight, Parameter* bias, double eps)
    : Layer(std::move(name)), weight_(weight), bias_(bias), eps_(eps) {
    parameters_ = {weight_, bias_};
}

Variable LayerNorm::compute(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "output", input.dtype());
    const Tensor mean = row_figures(tape, input, tensor::count(weight_->shape), "mean");
    const Tensor rstd = row_figures(tape, input, tensor::count(weight_->shape), "rstd");
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "layer_norm", name_);
        event->layer_norm_forward(output, mean, rstd, input, weight_->value, bias_->value, eps_);
    }
    Tape::Node node;
    node.name = "layer_norm";
    node.inputs = {x};
    node.parameters = {weight_, bias_};
    node.backward_weight = [this, input, mean, rstd](Tape& t, const Tensor& grad_output) {
        Tensor weight_grad = gradient(t, *weight_, grad_output.dtype());
        Tensor bias_grad = gradient(t, *bias_, grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "layer_norm.weight_grad", name_);
            event->layer_norm_weight_grad(weight_grad, bias_grad, grad_output, input, mean, rstd, false);
        }
        accumulate(t, *weight_, std::move(weight_grad));
        accumulate(t, *bias_, std::move(bias_grad));
    };
    if (tape.needs_grad(x)) {
        node.backward_input = [this, x, input, mean, rstd](Tape& t, const Tensor& grad_output) {
            Tensor input_grad = activation(t, input.shape(), "input grad", grad_output.dtype());
            {
                const ComputeEvent event(t.recorder(), t.allocator(), "layer_norm.input_grad", name_);
                event->layer_norm_input_grad(input_grad, grad_output, input, mean, rstd, weight_->value);
            }
            t.accumulate(x, std::move(input_grad));
        };
    }
    return tape.append(std::move(node), output);
}

RmsNorm::RmsNorm(std::string name, Parameter* weight, double eps, bool zero_centered)
    : Layer(std::move(name)), weight_(weight), eps_(eps), zero_centered_(zero_centered) {
    parameters_ = {weight_};
}

Tensor RmsNorm::factors(Tape& tape) const {
    if (!zero_centered_) return weight_->value;
    const Tensor sum = tape.allocator().empty(weight_->shape, weight_->value.dtype(),
                                              MemoryCategory::temporaries, label(tape, "1 + weight"));
    const ComputeEvent event(tape.recorder(), tape.allocator(), "rms_norm.factors", name_);
    event->fill(sum, 1.0F);
    event->add(sum, sum, weight_->value);
    return sum;
}

Variable RmsNorm::compute(Tape& tape, Variable x) {
    if (eager) return eager_rms_norm(tape, x, *weight_, zero_centered_);
    const Tensor input = tape.value(x);
    const Tensor output = activation(tape, input.shape(), "output", input.dtype());
    const Tensor rstd = row_figures(tape, input, tensor::count(weight_->shape), "rstd");
    const Tensor weight = factors(tape);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "rms_norm", name_);
        event->rms_norm_forward(output, rstd, input, weight, eps_);
    }
    Tape::Node node;
    node.name = "rms_norm";
    node.inputs = {x};
    node.parameters = {weight_};
    node.backward_weight = [this, input, rstd](Tape& t, const Tensor& grad_output) {
        Tensor weight_grad = gradient(t, *weight_, grad_output.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "rms_norm.weight_grad", name_);
            event->rms_norm_weight_grad(weight_grad, grad_output, input, rstd, false);
        }
        t.accumulate(*weight_, std::move(weight_grad));
    };
    if (tape.needs_grad(x)) {
        node.backward_input = [this, x, input, rstd](Tape& t, const Tensor& grad_output) {
            Tensor input_grad = activation(t, input.shape(), "input grad", grad_output.dtype());
            const Tensor factor = factors(t);
            {
                const ComputeEvent event(t.recorder(), t.allocator(), "rms_norm.input_grad", name_);
                event->rms_norm_input_grad(input_grad, grad_output, input, rstd, factor);
            }
            t.accumulate(x, std::move(input_grad));
        };
    }
    return tape.append(std::move(node), output);
}

}  // namespace meshscope::nn
