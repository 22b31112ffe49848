#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/nn/compute_event.h"
#include "core/nn/tape.h"
#include "core/tensor/kernels.h"

namespace meshscope::nn {

/// What the layers' own files share.

/// What the memory view calls a tensor: "layers.0 gelu_tanh output", and "relu output" outside of all
/// modules.
inline std::string label(const Tape& tape, std::string_view what) {
    std::string text(tape.unit());
    if (!text.empty()) text += ' ';
    return text.append(what);
}

/// Memory for an activation or its gradient.
inline Tensor activation(Tape& tape, Shape shape, std::string_view what, DType dtype = DType::float32) {
    return tape.allocator().empty(std::move(shape), dtype, MemoryCategory::activations, label(tape, what));
}

/// Memory for one backward pass' gradient of a parameter; of one that needs none, which a kernel computes
/// beside another's, a temporary.
inline Tensor gradient(Tape& tape, const Parameter& parameter, DType dtype = DType::float32) {
    return tape.allocator().empty(
        parameter.shape, dtype,
        parameter.needs_grad() ? MemoryCategory::gradients : MemoryCategory::temporaries,
        parameter.name + " grad");
}

/// Hands over what a kernel wrote into gradient(): Tape::accumulate(), and of a parameter that needs none
/// nothing.
inline void accumulate(Tape& tape, Parameter& parameter, Tensor grad) {
    if (parameter.needs_grad()) tape.accumulate(parameter, std::move(grad));
}

/// All dims but the last of `shape`, and then `last`.
inline Shape with_last(Shape shape, int64_t last) {
    if (!shape.empty()) shape.back() = last;
    return shape;
}

}  // namespace meshscope::nn
