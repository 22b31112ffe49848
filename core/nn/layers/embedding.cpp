#include "core/nn/layers/embedding.h"

#include <utility>

#include "core/nn/layers/common.h"

namespace meshscope::nn {

Embedding::Embedding(std::string name, Parameter* weight) : Layer(std::move(name)), weight_(weight) {
    parameters_.push_back(weight_);
}

Variable Embedding::compute(Tape& tape, Variable x) {
    const Tensor indices = tape.value(x);
    Shape shape = indices.shape();
    shape.push_back(weight_->shape[1]);
    const Tensor output = activation(tape, std::move(shape), "output", weight_->value.dtype());
    {
        const ComputeEvent event(tape.recorder(), tape.allocator(), "embedding", name_);
        if (is_part())
            event->embedding_part_forward(output, weight_->value, indices, weight_->box.first);
        else
            event->embedding_forward(output, weight_->value, indices);
    }
    Tape::Node node;
    node.name = "embedding";
    node.inputs = {x};
    node.parameters = {weight_};
    node.backward_weight = [this, indices](Tape& t, const Tensor& grad_output) {
        Tensor grad = gradient(t, *weight_, grad_output.dtype());
        {
            // The whole table is written: rows that no index names get a gradient of zero, as in PyTorch.
            const ComputeEvent event(t.recorder(), t.allocator(), "embedding.backward", name_);
            if (is_part())
                event->embedding_part_backward(grad, grad_output, indices, weight_->box.first, false);
            else
                event->embedding_backward(grad, grad_output, indices, false);
        }
        t.accumulate(*weight_, std::move(grad));
    };
    return tape.append(std::move(node), output);
}

}  // namespace meshscope::nn
