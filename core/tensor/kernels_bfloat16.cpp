// Each kernel twice: float32 goes through, bfloat16 is widened, computed and rounded.
#include "core/tensor/kernels_bfloat16.h"

#include "core/tensor/kernels_check.h"
#include "core/tensor/widened.h"

namespace meshscope::tensor {
template <class Base>
void WithBfloat16<Base>::fill(const Tensor& out, float value) const {
    if (!is_bfloat16({out})) return Base::fill(out, value);
    for (uint16_t& x : out.template data<uint16_t>()) x = to_bfloat16(value);
}

template <class Base>
void WithBfloat16<Base>::scale(const Tensor& in_out, float factor) const {
    if (in_out.defined() && in_out.dtype() == DType::float16) {
        for (Float16& x : in_out.template data<Float16>()) x = to_float16(factor * from_float16(x));
        return;
    }
    if (!is_bfloat16({in_out})) return Base::scale(in_out, factor);
    Wide wide(*this, *device_);
    Base::scale(wide.in_out(in_out), factor);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::axpy(const Tensor& y, float a, const Tensor& x) const {
    if (!is_bfloat16({y, x})) return Base::axpy(y, a, x);
    Wide wide(*this, *device_);
    Base::axpy(wide.in_out(y), a, wide.in(x));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::add(const Tensor& out, const Tensor& a, const Tensor& b) const {
    if (out.defined() && out.dtype() == DType::float16) {
        const auto sums = out.template data<Float16>(), as = a.template data<Float16>(),
                   bs = b.template data<Float16>();
        expect_count("add", a, out.n_elements(), DType::float16);
        expect_count("add", b, out.n_elements(), DType::float16);
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] = to_float16(from_float16(as[i]) + from_float16(bs[i]));
        return;
    }
    if (!is_bfloat16({out, a, b})) return Base::add(out, a, b);
    Wide wide(*this, *device_);
    Base::add(wide.out(out), wide.in(a), wide.in(b));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::add_rows(const Tensor& out, const Tensor& a, const Tensor& row) const {
    if (!is_bfloat16({out, a, row})) return Base::add_rows(out, a, row);
    Wide wide(*this, *device_);
    Base::add_rows(wide.out(out), wide.in(a), wide.in(row));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::multiply(const Tensor& out, const Tensor& a, const Tensor& b) const {
    if (!is_bfloat16({out, a, b})) return Base::multiply(out, a, b);
    Wide wide(*this, *device_);
    Base::multiply(wide.out(out), wide.in(a), wide.in(b));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                        const Tensor& bias) const {
    if (!is_bfloat16({y, x, weight, bias})) return Base::linear_forward(y, x, weight, bias);
    Wide wide(*this, *device_);
    Base::linear_forward(wide.out(y), wide.in(x), wide.in(weight), wide.in(bias));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const {
    if (!is_bfloat16({dx, dy, weight})) return Base::linear_input_grad(dx, dy, weight);
    Wide wide(*this, *device_);
    Base::linear_input_grad(wide.out(dx), wide.in(dy), wide.in(weight));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                            bool accumulate) const {
    if (!is_bfloat16({dw, dy, x})) return Base::linear_weight_grad(dw, dy, x, accumulate);
    Wide wide(*this, *device_);
    Base::linear_weight_grad(wide.grad(dw, accumulate), wide.in(dy), wide.in(x), false);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::linear_bias_grad(const Tensor& db, const Tensor& dy, bool accumulate) const {
    if (!is_bfloat16({db, dy})) return Base::linear_bias_grad(db, dy, accumulate);
    Wide wide(*this, *device_);
    Base::linear_bias_grad(wide.grad(db, accumulate), wide.in(dy), false);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::relu_forward(const Tensor& y, const Tensor& x) const {
    if (!is_bfloat16({y, x})) return Base::relu_forward(y, x);
    Wide wide(*this, *device_);
    Base::relu_forward(wide.out(y), wide.in(x));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const {
    if (!is_bfloat16({dx, dy, y})) return Base::relu_backward(dx, dy, y);
    Wide wide(*this, *device_);
    Base::relu_backward(wide.out(dx), wide.in(dy), wide.in(y));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::gelu_tanh_forward(const Tensor& y, const Tensor& x) const {
    if (!is_bfloat16({y, x})) return Base::gelu_tanh_forward(y, x);
    Wide wide(*this, *device_);
    Base::gelu_tanh_forward(wide.out(y), wide.in(x));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    if (!is_bfloat16({dx, dy, x})) return Base::gelu_tanh_backward(dx, dy, x);
    Wide wide(*this, *device_);
    Base::gelu_tanh_backward(wide.out(dx), wide.in(dy), wide.in(x));
    wide.round();
}

// torch.nn.functional.silu(gate) * up is two operations, and the first one's result is rounded.
template <class Base>
void WithBfloat16<Base>::silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const {
    if (!is_bfloat16({y, gate, up})) return Base::silu_mul_forward(y, gate, up);
    for (const Tensor& tensor : {y, up}) expect_count("silu_mul", tensor, gate.n_elements(), DType::bfloat16);
    Wide wide(*this, *device_);
    const Tensor silu = wide.like(gate);
    Base::silu_mul_forward(silu, wide.in(gate), wide.ones(gate));
    wide.round_in_place(silu);
    Base::multiply(wide.out(y), silu, wide.in(up));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                           const Tensor& gate, const Tensor& up) const {
    if (!is_bfloat16({dgate, dup, dy, gate, up})) return Base::silu_mul_backward(dgate, dup, dy, gate, up);
    for (const Tensor& tensor : {dgate, dup, dy, up})
        expect_count("silu_mul.backward", tensor, gate.n_elements(), DType::bfloat16);
    Wide wide(*this, *device_);
    const Tensor wide_gate = wide.in(gate);
    const Tensor wide_dy = wide.in(dy);
    const Tensor ones = wide.ones(gate);
    const Tensor silu = wide.like(gate);
    Base::silu_mul_forward(silu, wide_gate, ones);
    wide.round_in_place(silu);
    const Tensor dsilu = wide.like(gate);
    Base::multiply(dsilu, wide_dy, wide.in(up));
    wide.round_in_place(dsilu);
    Base::multiply(wide.out(dup), wide_dy, silu);
    Base::silu_mul_backward(wide.out(dgate), silu, dsilu, wide_gate, ones);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::embedding_forward(const Tensor& y, const Tensor& table,
                                           const Tensor& indices) const {
    if (!is_bfloat16({y, table})) return Base::embedding_forward(y, table, indices);
    Wide wide(*this, *device_);
    Base::embedding_forward(wide.out(y), wide.in(table), indices);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                            bool accumulate) const {
    if (!is_bfloat16({dtable, dy})) return Base::embedding_backward(dtable, dy, indices, accumulate);
    Wide wide(*this, *device_);
    Base::embedding_backward(wide.grad(dtable, accumulate), wide.in(dy), indices, false);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd,
                                            const Tensor& x, const Tensor& weight, const Tensor& bias,
                                            double eps) const {
    if (!is_bfloat16({y, x, weight, bias}))
        return Base::layer_norm_forward(y, mean, rstd, x, weight, bias, eps);
    Wide wide(*this, *device_);
    Base::layer_norm_forward(wide.out(y), mean, rstd, wide.in(x), wide.in(weight), wide.in(bias), eps);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                               const Tensor& mean, const Tensor& rstd,
                                               const Tensor& weight) const {
    if (!is_bfloat16({dx, dy, x, weight})) return Base::layer_norm_input_grad(dx, dy, x, mean, rstd, weight);
    Wide wide(*this, *device_);
    Base::layer_norm_input_grad(wide.out(dx), wide.in(dy), wide.in(x), mean, rstd, wide.in(weight));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy,
                                                const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                                bool accumulate) const {
    if (!is_bfloat16({dw, db, dy, x}))
        return Base::layer_norm_weight_grad(dw, db, dy, x, mean, rstd, accumulate);
    Wide wide(*this, *device_);
    const Tensor wide_dw = wide.grad(dw, accumulate);
    const Tensor wide_db = wide.grad(db, accumulate);
    Base::layer_norm_weight_grad(wide_dw, wide_db, wide.in(dy), wide.in(x), mean, rstd, false);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x,
                                          const Tensor& weight, double eps) const {
    if (!is_bfloat16({y, x, weight})) return Base::rms_norm_forward(y, rstd, x, weight, eps);
    Wide wide(*this, *device_);
    Base::rms_norm_forward(wide.out(y), rstd, wide.in(x), wide.in(weight), eps);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                             const Tensor& rstd, const Tensor& weight) const {
    if (!is_bfloat16({dx, dy, x, weight})) return Base::rms_norm_input_grad(dx, dy, x, rstd, weight);
    Wide wide(*this, *device_);
    Base::rms_norm_input_grad(wide.out(dx), wide.in(dy), wide.in(x), rstd, wide.in(weight));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                              const Tensor& rstd, bool accumulate) const {
    if (!is_bfloat16({dw, dy, x})) return Base::rms_norm_weight_grad(dw, dy, x, rstd, accumulate);
    Wide wide(*this, *device_);
    Base::rms_norm_weight_grad(wide.grad(dw, accumulate), wide.in(dy), wide.in(x), rstd, false);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape,
                                bool inverse) const {
    if (!is_bfloat16({out, in})) return Base::rotary(out, in, shape, inverse);
    Wide wide(*this, *device_);
    Base::rotary(wide.out(out), wide.in(in), shape, inverse);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q,
                                           const Tensor& k, const Tensor& v,
                                           const AttentionShape& shape) const {
    if (!is_bfloat16({o, q, k, v})) return Base::attention_forward(o, lse, q, k, v, shape);
    Wide wide(*this, *device_);
    Base::attention_forward(wide.out(o), lse, wide.in(q), wide.in(k), wide.in(v), shape);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                            const Tensor& dout, const Tensor& q, const Tensor& k,
                                            const Tensor& v, const Tensor& o, const Tensor& lse,
                                            const AttentionShape& shape) const {
    if (!is_bfloat16({dq, dk, dv, dout, q, k, v, o}))
        return Base::attention_backward(dq, dk, dv, dout, q, k, v, o, lse, shape);
    Wide wide(*this, *device_);
    Base::attention_backward(wide.out(dq), wide.out(dk), wide.out(dv), wide.in(dout), wide.in(q), wide.in(k),
                             wide.in(v), wide.in(o), lse, shape);
    wide.round();
}

// torch.nn.functional.cross_entropy is log_softmax, whose result is rounded, and nll_loss.
template <class Base>
void WithBfloat16<Base>::cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                               const Tensor& targets) const {
    if (!is_bfloat16({loss, logits})) return Base::cross_entropy_forward(loss, lse, logits, targets);
    Wide wide(*this, *device_);
    const Tensor wide_logits = wide.in(logits);
    const Tensor wide_loss = wide.out(loss);
    Base::cross_entropy_forward(wide_loss, lse, wide_logits, targets);
    const auto wanted = targets.template data<int64_t>();
    const int64_t classes = wanted.empty() ? 0 : logits.n_elements() / targets.n_elements();
    double sum = 0.0;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        const std::size_t at = r * static_cast<std::size_t>(classes) + static_cast<std::size_t>(wanted[r]);
        sum += rounded(lse.template data<float>()[r] - wide_logits.template data<float>()[at]);
    }
    wide_loss.template data<float>()[0] = static_cast<float>(sum / static_cast<double>(wanted.size()));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss,
                                                const Tensor& logits, const Tensor& lse,
                                                const Tensor& targets) const {
    if (!is_bfloat16({dlogits, dloss, logits}))
        return Base::cross_entropy_backward(dlogits, dloss, logits, lse, targets);
    const int64_t classes =
        expect_cross_entropy("cross_entropy.backward", logits, lse, targets, DType::bfloat16);
    Wide wide(*this, *device_);
    const Tensor log_p = wide.in(logits);
    const auto numbers = log_p.template data<float>();
    const auto lses = lse.template data<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = rounded(numbers[i] - lses[i / static_cast<std::size_t>(classes)]);
    // dloss / N is rounded too: given N times as large, Base's own division restores it.
    const auto rows = static_cast<float>(targets.n_elements());
    const Tensor wide_dloss = wide.in(dloss);
    expect_count("cross_entropy.backward", dloss, 1, DType::bfloat16);
    float& seed = wide_dloss.template data<float>()[0];
    seed = rounded(seed / rows) * rows;
    const Tensor zeros = wide.like(lse);
    Base::zero(zeros);
    Base::cross_entropy_backward(wide.out(dlogits), wide_dloss, log_p, zeros, targets);
    wide.round();
}

// The prediction is promoted to the target's float32, as PyTorch promotes it, and the loss is float32.
template <class Base>
void WithBfloat16<Base>::mse_forward(const Tensor& loss, const Tensor& prediction,
                                     const Tensor& target) const {
    if (!is_bfloat16({prediction})) return Base::mse_forward(loss, prediction, target);
    Wide wide(*this, *device_);
    Base::mse_forward(loss, wide.in(prediction), target);
}

template <class Base>
void WithBfloat16<Base>::mse_backward(const Tensor& dprediction, const Tensor& dloss,
                                      const Tensor& prediction, const Tensor& target) const {
    if (!is_bfloat16({dprediction, prediction}))
        return Base::mse_backward(dprediction, dloss, prediction, target);
    Wide wide(*this, *device_);
    Base::mse_backward(wide.out(dprediction), dloss, wide.in(prediction), target);
    wide.round();
}

template <class Base>
double WithBfloat16<Base>::sum_of_squares(const Tensor& in) const {
    if (!is_bfloat16({in})) return Base::sum_of_squares(in);
    Wide wide(*this, *device_);
    return Base::sum_of_squares(wide.in(in));
}

template class WithBfloat16<CpuKernels>;
template class WithBfloat16<ReferenceKernels>;

}  // namespace meshscope::tensor
