#pragma once

#include <cstdint>

#include "core/parallel/fsdp2/shard.h"
#include "core/tensor/kernels.h"
#include "core/tensor/tensor.h"

namespace meshscope::parallel {

/// A whole array cut along a dim by torch.chunk's rule, as DTensor's Shard does: `outer` times, run_of(part)
/// neighbouring elements belong to a part. Collectives want the parts one behind the other and all of one
/// size, that of the first; where the cut dim is not the first one, or the last parts are smaller, the pieces
/// are copied there and back, and what is missing at a part's end is padding.
struct Cut {
    int64_t parts, outer, inner;
    RowCut rows;

    static Cut of(const tensor::Shape& whole, int tensor_dim, int64_t parts);
    /// Elements of a part on the wire, padding included, in one of the `outer` runs and in all.
    int64_t padded_run() const { return rows.rows_per_rank() * inner; }
    int64_t part_elements() const { return outer * padded_run(); }
    int64_t run_of(int64_t part) const { return rows.rows_of(part) * inner; }
    /// Where element 0 of a part's run `o` stands in the whole array.
    int64_t begin(int64_t part, int64_t o) const { return (o * rows.rows + rows.first_row(part)) * inner; }
    bool even() const { return rows.rows % parts == 0; }
    /// The parts lie one behind the other as they are: nothing to copy.
    bool in_order() const { return outer == 1 && even(); }
};

/// The shape with `size` in dim `tensor_dim`.
tensor::Shape resized(tensor::Shape shape, int tensor_dim, int64_t size);

/// The shape with dim `tensor_dim` multiplied by `times` and divided by `parts`.
tensor::Shape scaled(tensor::Shape shape, int tensor_dim, int64_t times, int64_t parts);

/// Copies between a whole array and its parts joined one behind the other, each padded to the first one's
/// size: `to_whole`, or the other way. Padding is neither read nor written. Each element is read and written
/// once; parts · outer calls of the copy kernel.
void copy_parts(const tensor::Kernels& kernels, const tensor::Tensor& whole, const tensor::Tensor& joined,
                const Cut& cut, bool to_whole);

/// Copies between an array and the same padded at the end of dim `tensor_dim`: `to_padded`, or the other way.
void copy_padded(const tensor::Kernels& kernels, const tensor::Tensor& array, const tensor::Tensor& padded,
                 int tensor_dim, bool to_padded);

}  // namespace meshscope::parallel
