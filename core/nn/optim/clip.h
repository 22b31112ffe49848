#pragma once

#include <span>

#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"

namespace meshscope::nn {

/// Σ of all gradients' squares, in double: each tensor first element first, tensors in order; undefined ones
/// count 0. Where gradients are cut over ranks, the ranks' sums are added before the root is taken. Event
/// "grad_norm".
double sum_of_squares(std::span<const tensor::Tensor> grads, const tensor::Allocator& allocator,
                      trace::Recorder* recorder = nullptr);

/// min(1, max_norm / (norm + 1e-6)): torch.nn.utils.clip_grad_norm_'s coefficient for the global 2-norm.
double clip_coefficient(double norm, double max_norm);

/// Multiplies every defined gradient by clip_coefficient(norm, max_norm), also when that is 1, as PyTorch
/// does to spare the device a question. Event "clip".
void clip_gradients(std::span<const tensor::Tensor> grads, double norm, double max_norm,
                    const tensor::Allocator& allocator, trace::Recorder* recorder = nullptr);

}  // namespace meshscope::nn
