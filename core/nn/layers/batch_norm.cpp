#include "core/nn/layers/batch_norm.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {
BatchNorm::BatchNorm(std::string name, Parameter* weight, Parameter* bias, Running running, double eps,
                     double momentum)
    : Layer(std::move(name)),
      weight_(weight),
      bias_(bias),
      running_(running),
      eps_(eps),
      momentum_(momentum) {
    parameters_ = {weight_, bias_};
}

Variable BatchNorm::compute(Tape& tape, Variable x) {
    const Tensor input = tape.value(x);
    const int64_t features = tensor::count(weight_->shape);
    Tensor statistics = activation(tape, {2 * features + 1}, "statistics");
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "batch_norm.statistics", name_);
        event->batch_norm_stats(statistics, input, eps_);
    }
    if (shared) statistics = shared->gather(tape, name_, statistics);
    const Tensor mean = activation(tape, {features}, "mean");
    const Tensor invstd = activation(tape, {features}, "invstd");
    int64_t rows = 0;
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "batch_norm.combine", name_);
        rows = event->batch_norm_gather_stats(mean, invstd, running_.mean->value, running_.variance->value,
                                              statistics, momentum_, eps_);
        ++running_.batches->value.data<int64_t>()[0];
    }
    statistics = Tensor();
    const Tensor output = activation(tape, input.shape(), "output");
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "batch_norm", name_);
        event->batch_norm_elemt(output, input, mean, invstd, weight_->value, bias_->value);
    }
    Tape::Node node;
    node.name = "batch_norm";
    node.inputs = {x};
    node.parameters = {weight_, bias_};
    node.backward_both = [this, x, input, mean, invstd, rows](Tape& t, Tensor grad_output) {
        backward(t, x, input, mean, invstd, rows, grad_output);
    };
    return tape.append(std::move(node), output);
}

void BatchNorm::backward(Tape& tape, Variable x, const Tensor& input, const Tensor& mean,
                         const Tensor& invstd, int64_t rows, const Tensor& grad_output) {
    const Tensor sums = activation(tape, {2 * mean.n_elements()}, "gradient sums");
    Tensor weight_grad = gradient(tape, *weight_);
    Tensor bias_grad = gradient(tape, *bias_);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "batch_norm.weight_grad", name_);
        event->batch_norm_backward_reduce(sums, weight_grad, bias_grad, grad_output, input, mean, invstd);
    }
    Tensor input_grad;
    if (tape.needs_grad(x)) {
        if (shared) shared->sum(tape, name_, sums);
        input_grad = activation(tape, input.shape(), "input grad");
        const ComputeEvent event(tape.recorder(), tape.allocator(), "batch_norm.input_grad", name_);
        event->batch_norm_backward_elemt(input_grad, grad_output, input, mean, invstd, weight_->value, sums,
                                         rows);
    }
    accumulate(tape, *weight_, std::move(weight_grad));
    accumulate(tape, *bias_, std::move(bias_grad));
    if (input_grad.defined()) tape.accumulate(x, std::move(input_grad));
}

}  // namespace meshscope::nn
