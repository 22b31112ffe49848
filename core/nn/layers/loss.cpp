#include "core/nn/layers/loss.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {

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
