#include "core/nn/layers/aten.h"

#include <algorithm>

#include "core/nn/layers/common.h"

namespace meshscope::nn {
namespace {

/// In the record alone: it begins and ends at once. `made`: what was written, undefined operands count
/// nothing.
class EagerComputeEvent {
  public:
    EagerComputeEvent(const Tape& tape, std::string_view op, const Tensor& made, const Tensor& a = {},
                      const Tensor& b = {})
        : EagerComputeEvent(tape, op, made, std::max(made.n_elements(), a.n_elements()),
                            a.bytes() + b.bytes()) {}
    EagerComputeEvent(const Tape& tape, std::string_view op, const Tensor& made, int64_t operations,
                      int64_t read_bytes) {
        trace::Recorder* const recorder = tape.recorder();
        if (recorder == nullptr) return;
        recorder->end_compute(recorder->begin_compute(op, tape.unit()), operations, made.bytes() + read_bytes,
                              made.dtype());
    }
};

DType promoted(const Tensor& a, const Tensor& b) {
    return b.defined() && b.dtype() == DType::float32 && b.n_elements() == a.n_elements() ? b.dtype()
                                                                                          : a.dtype();
}

}  // namespace

Tensor Aten::make(const Shape& shape, DType dtype, const Made& made) const {
    return tape_->allocator().empty(shape, dtype, made.category, label(*tape_, made.what));
}

Tensor Aten::of_rows(int64_t rows, const Made& made) const {
    return make({rows}, DType::float32, made);
}

Tensor Aten::to(const Tensor& x, DType dtype, const Made& made) const {
    if (x.dtype() == dtype) return x;
    Tensor y = make(x.shape(), dtype, made);
    const EagerComputeEvent event(*tape_, "aten::to", y, x);
    return y;
}

Tensor Aten::by_element(std::string_view op, const Tensor& a, const Tensor& b, const Made& made) const {
    Tensor y = make(a.shape(), promoted(a, b), made);
    const EagerComputeEvent event(*tape_, op, y, a, b);
    return y;
}

Tensor Aten::by_row(std::string_view op, const Tensor& x, int64_t rows, const Made& made) const {
    Tensor y = of_rows(rows, made);
    const EagerComputeEvent event(*tape_, op, y, x);
    return y;
}

Tensor Aten::pow(const Tensor& x, const Made& made) const {
    return by_element("aten::pow", x, {}, made);
}

Tensor Aten::exp(const Tensor& x, const Made& made) const {
    return by_element("aten::exp", x, {}, made);
}

Tensor Aten::log(const Tensor& x, const Made& made) const {
    return by_element("aten::log", x, {}, made);
}

Tensor Aten::rsqrt(const Tensor& x, const Made& made) const {
    return by_element("aten::rsqrt", x, {}, made);
}

Tensor Aten::zeros(const Tensor& like, const Made& made) const {
    Tensor y = make(like.shape(), like.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::zeros", y);
    return y;
}

Tensor Aten::clone_table(int64_t numbers, const Made& made) const {
    Tensor y = of_rows(numbers, made);
    const EagerComputeEvent event(*tape_, "aten::clone", y, y);
    return y;
}

Tensor Aten::add(const Tensor& a, const Tensor& b, const Made& made) const {
    return by_element("aten::add", a, b, made);
}

Tensor Aten::sub(const Tensor& a, const Tensor& b, const Made& made) const {
    return by_element("aten::sub", a, b, made);
}

Tensor Aten::mul(const Tensor& a, const Tensor& b, const Made& made) const {
    return by_element("aten::mul", a, b, made);
}

Tensor Aten::mean(const Tensor& x, int64_t rows, const Made& made) const {
    return by_row("aten::mean", x, rows, made);
}

Tensor Aten::sum(const Tensor& x, int64_t rows, const Made& made) const {
    return by_row("aten::sum", x, rows, made);
}

Tensor Aten::amax(const Tensor& x, int64_t rows, const Made& made) const {
    return by_row("aten::amax", x, rows, made);
}

Tensor Aten::gather(const Tensor& x, const Tensor& targets, const Made& made) const {
    Tensor y = make(targets.shape(), x.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::gather", y, y, targets);
    return y;
}

void Aten::sum_into(const Tensor& made, const Tensor& x) const {
    const EagerComputeEvent event(*tape_, "aten::sum", made, x);
}

Tensor Aten::div(const Tensor& of_rows, const Tensor& like, const Made& made) const {
    Tensor y = make(like.shape(), of_rows.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::div", y, of_rows);
    return y;
}

Tensor Aten::silu(const Tensor& x, const Made& made) const {
    Tensor y = make(x.shape(), x.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::silu", y, 4 * y.n_elements(), x.bytes());
    return y;
}

Tensor Aten::silu_backward(const Tensor& grad, const Tensor& x, const Made& made) const {
    Tensor y = make(x.shape(), x.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::silu_backward", y, 9 * y.n_elements(),
                                  grad.bytes() + x.bytes());
    return y;
}

Tensor Aten::neg_half(const Tensor& whole, const Made& made) const {
    Tensor y = make({whole.n_elements() / 2}, whole.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::neg", y, y);
    return y;
}

Tensor Aten::cat_halves(const Tensor& whole, const Made& made) const {
    Tensor y = make(whole.shape(), whole.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::cat", y, y);
    return y;
}

Tensor Aten::slice_backward(const Tensor& whole, const Made& made) const {
    Tensor y = make(whole.shape(), whole.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::slice_backward", y, y.n_elements() / 2, y.bytes() / 2);
    return y;
}

Tensor Aten::log_softmax(const Tensor& x, const Made& made) const {
    Tensor y = make(x.shape(), x.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::_log_softmax", y, 4 * y.n_elements(), 3 * x.bytes());
    return y;
}

Tensor Aten::log_softmax_backward(const Tensor& grad, const Tensor& output, const Made& made) const {
    Tensor y = make(output.shape(), output.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::_log_softmax_backward_data", y, 3 * y.n_elements(),
                                  2 * grad.bytes() + output.bytes());
    return y;
}

Tensor Aten::nll_loss(const Tensor& targets, const Made& made) const {
    Tensor y = of_rows(1, made);
    const EagerComputeEvent event(*tape_, "aten::nll_loss_forward", y, targets);
    return y;
}

Tensor Aten::nll_loss_backward(const Tensor& output, const Tensor& targets, const Made& made) const {
    Tensor y = make(output.shape(), output.dtype(), made);
    const EagerComputeEvent event(*tape_, "aten::nll_loss_backward", y, targets.n_elements(),
                                  targets.bytes());
    return y;
}

}  // namespace meshscope::nn
