#pragma once

#include <string_view>

#include "core/nn/tape.h"

namespace meshscope::nn {

/// What backward needs is an activation, all else a temporary.
inline MemoryCategory kept_if(bool kept) {
    return kept ? MemoryCategory::activations : MemoryCategory::temporaries;
}

/// Eager PyTorch's kernels as far as memory and time go: each takes memory for what it makes, as a label of
/// the memory view and a category say, and leaves a compute event of its own ("aten::mul", as torch.profiler
/// calls it) with the bytes that it reads and writes. No number is computed.
///
/// What a kernel makes has the shape of its first operand unless said otherwise, and is float32 where one of
/// the operands is. An operation an element is counted, of silu and softmax as many as the engine's own
/// kernels count (kernels.def). Handles decide how long memory stays, as names do in
/// Python: whoever calls drops them where PyTorch drops its own.
class Aten {
  public:
    /// What is made.
    struct Made {
        std::string_view what;
        MemoryCategory category = MemoryCategory::temporaries;
    };

    explicit Aten(Tape& tape) : tape_(&tape) {}

    /// `x` itself where it has the type already.
    Tensor to(const Tensor& x, DType dtype, const Made& made) const;
    Tensor pow(const Tensor& x, const Made& made) const;
    Tensor exp(const Tensor& x, const Made& made) const;
    Tensor log(const Tensor& x, const Made& made) const;
    Tensor rsqrt(const Tensor& x, const Made& made) const;
    Tensor zeros(const Tensor& like, const Made& made) const;
    /// Of a table of so many float32 numbers.
    Tensor clone_table(int64_t numbers, const Made& made) const;
    /// `b` is broadcast where it is smaller; undefined: a number.
    Tensor add(const Tensor& a, const Tensor& b, const Made& made) const;
    Tensor sub(const Tensor& a, const Tensor& b, const Made& made) const;
    Tensor mul(const Tensor& a, const Tensor& b, const Made& made) const;
    /// One number a row.
    Tensor mean(const Tensor& x, int64_t rows, const Made& made) const;
    Tensor sum(const Tensor& x, int64_t rows, const Made& made) const;
    Tensor amax(const Tensor& x, int64_t rows, const Made& made) const;
    Tensor gather(const Tensor& x, const Tensor& targets, const Made& made) const;
    /// The same into memory that there is: a parameter's gradient.
    void sum_into(const Tensor& made, const Tensor& x) const;
    /// Each row's number, divided by a constant, in all elements of a tensor like `like`.
    Tensor div(const Tensor& of_rows, const Tensor& like, const Made& made) const;

    Tensor silu(const Tensor& x, const Made& made) const;
    Tensor silu_backward(const Tensor& grad, const Tensor& x, const Made& made) const;

    /// What one half of each head's elements is, negated; both halves in one tensor, like `whole`; and a
    /// gradient of a half in a tensor like `whole` of which the rest is zero.
    Tensor neg_half(const Tensor& whole, const Made& made) const;
    Tensor cat_halves(const Tensor& whole, const Made& made) const;
    Tensor slice_backward(const Tensor& whole, const Made& made) const;

    /// A row of classes is too long for a multiprocessor's own memory: it is read three times, for its
    /// maximum, its sum and the result; backward reads the gradient twice.
    /// aten/src/ATen/native/cuda/SoftMax.cu.
    Tensor log_softmax(const Tensor& x, const Made& made) const;
    Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, const Made& made) const;
    /// One number, and another that says how many rows count.
    Tensor nll_loss(const Tensor& targets, const Made& made) const;
    /// Zeros, but for one number a row.
    Tensor nll_loss_backward(const Tensor& output, const Tensor& targets, const Made& made) const;

  private:
    Tensor make(const Shape& shape, DType dtype, const Made& made) const;
    Tensor of_rows(int64_t rows, const Made& made) const;
    Tensor by_element(std::string_view op, const Tensor& a, const Tensor& b, const Made& made) const;
    Tensor by_row(std::string_view op, const Tensor& x, int64_t rows, const Made& made) const;

    Tape* tape_;
};

}  // namespace meshscope::nn
