#include "core/nn/optim/clip.h"

#include <algorithm>

#include "core/nn/compute_event.h"
#include "core/tensor/kernels.h"

namespace meshscope::nn {

double sum_of_squares(std::span<const tensor::Tensor> grads, const tensor::Allocator& allocator,
                      trace::Recorder* recorder) {
    const ComputeEvent event(recorder, allocator, "grad_norm", "");
    double sum = 0.0;
    for (const tensor::Tensor& grad : grads)
        if (grad.defined()) sum += event->sum_of_squares(grad);
    return sum;
}

double clip_coefficient(double norm, double max_norm) {
    constexpr double kGuard = 1e-6;  // PyTorch's, against a norm of 0
    // With these arguments in this order a NaN comes through, as in PyTorch, and is seen in the next loss.
    return std::min(max_norm / (norm + kGuard), 1.0);
}

void clip_gradients(std::span<const tensor::Tensor> grads, double norm, double max_norm,
                    const tensor::Allocator& allocator, trace::Recorder* recorder) {
    const ComputeEvent event(recorder, allocator, "clip", "");
    const auto factor = static_cast<float>(clip_coefficient(norm, max_norm));
    for (const tensor::Tensor& grad : grads)
        if (grad.defined()) event->scale(grad, factor);
}

}  // namespace meshscope::nn
