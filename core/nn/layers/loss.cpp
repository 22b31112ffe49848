#include "core/nn/layers/loss.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {
Variable mse(Tape& tape, Variable prediction, const Tensor& target) {
    const Tensor input = tape.value(prediction);
    const Tensor loss = activation(tape, {1}, "loss");
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "mse", tape.unit());
        event->mse_forward(loss, input, target);
    }
    Tape::Node node;
    node.name = "mse";
    node.inputs = {prediction};
    node.backward_input = [prediction, input, target](Tape& t, const Tensor& grad_loss) {
        Tensor input_grad = activation(t, input.shape(), "mse input grad", input.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "mse.backward", t.unit());
            event->mse_backward(input_grad, grad_loss, input, target);
        }
        t.accumulate(prediction, std::move(input_grad));
    };
    return tape.append(std::move(node), loss);
}

Variable cross_entropy(Tape& tape, Variable logits, const Tensor& targets, const LossForm& form) {
    const Tensor input = tape.value(logits);
    const Tensor lse = activation(tape, targets.shape(), "log-sum-exp");
    // bfloat16's loss is bfloat16, as PyTorch's, unless `form` says otherwise.
    const Tensor loss = activation(tape, {1}, "loss", form.dtype_of(input));
    const double divisor = form.divisor_of(targets);
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "cross_entropy", tape.unit());
        event->cross_entropy_forward(loss, lse, input, targets, divisor);
    }
    Tape::Node node;
    node.name = divisor == 0 ? kLossOfNothing : "cross_entropy";
    node.inputs = {logits};
    node.backward_input = [logits, input, lse, targets, divisor](Tape& t, const Tensor& grad_loss) {
        Tensor input_grad = activation(t, input.shape(), "cross_entropy input grad", input.dtype());
        {
            const ComputeEvent event(t.recorder(), t.allocator(), "cross_entropy.backward", t.unit());
            event->cross_entropy_backward(input_grad, grad_loss, input, lse, targets, divisor);
        }
        t.accumulate(logits, std::move(input_grad));
    };
    return tape.append(std::move(node), loss);
}

}  // namespace meshscope::nn
