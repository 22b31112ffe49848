#pragma once

#include <cstdint>

#include "core/tensor/kernels.h"
#include "core/tensor/tensor.h"

namespace meshscope::parallel {

/// A whole array cut evenly along a dim: `outer` times, `run` neighbouring elements belong to one part.
/// Collectives want the parts one behind the other; where the cut dim is not the first one, its pieces are
/// copied there and back.
struct Cut {
    int64_t parts, outer, run;

    /// Throws InvalidArgument ("sp.uneven") where the dim does not divide by `parts`.
    static Cut of(const tensor::Shape& whole, int tensor_dim, int64_t parts);
    int64_t part_elements() const { return outer * run; }
    /// The parts lie one behind the other as they are: nothing to copy.
    bool in_order() const { return outer == 1; }
};

/// The shape with dim `tensor_dim` multiplied by `times` and divided by `parts`.
tensor::Shape scaled(tensor::Shape shape, int tensor_dim, int64_t times, int64_t parts);

/// Copies between a whole array and its parts joined one behind the other: `to_whole`, or the other way. Each
/// element is read and written once; parts · outer calls of the copy kernel.
void copy_parts(const tensor::Kernels& kernels, const tensor::Tensor& whole, const tensor::Tensor& joined,
                const Cut& cut, bool to_whole);

}  // namespace meshscope::parallel
