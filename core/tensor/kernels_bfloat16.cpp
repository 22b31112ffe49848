// Float32 goes through; bfloat16 is widened, computed and rounded.
#include "core/tensor/kernels_bfloat16.h"

#include "core/tensor/kernel_declarations.h"
#include "core/tensor/kernel_parts.h"
#include "core/tensor/widened.h"

namespace meshscope::tensor {

#define KERNEL(result, method, name, parameters, arguments, ...)                                 \
    template <class Base>                                                                        \
    result Widened<Base>::method parameters const {                                              \
        const auto work = [this](const auto&... given) { return this->Base::method(given...); }; \
        return WidenedCall(declared::method::kDeclaration, *this, *device_, work) arguments;     \
    }
#include "core/tensor/kernels.def"

namespace {

bool is_bfloat16(const Tensor& tensor) {
    return tensor.dtype() == DType::bfloat16;
}

}  // namespace

// torch.nn.functional.silu(gate) * up is two operations, and the first one's result is rounded.
template <class Base>
void WithBfloat16<Base>::silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const {
    if (!is_bfloat16(y)) return Base::silu_mul_forward(y, gate, up);
    Wide wide(*this, *this->device_);
    const Tensor silu = wide.like(gate);
    Base::silu_mul_forward(silu, wide.in(gate), wide.ones(gate));
    wide.round_in_place(silu);
    Base::multiply(wide.out(y), silu, wide.in(up));
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                           const Tensor& gate, const Tensor& up) const {
    if (!is_bfloat16(dgate)) return Base::silu_mul_backward(dgate, dup, dy, gate, up);
    Wide wide(*this, *this->device_);
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

// torch.nn.functional.cross_entropy is log_softmax, whose result is rounded, and nll_loss. A loss in float32
// is that of float32 logits.
template <class Base>
void WithBfloat16<Base>::cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                               const Tensor& targets, double divisor) const {
    if (!is_bfloat16(loss)) return Widened<Base>::cross_entropy_forward(loss, lse, logits, targets, divisor);
    Wide wide(*this, *this->device_);
    const Tensor wide_logits = wide.in(logits);
    const Tensor wide_loss = wide.out(loss);
    Base::cross_entropy_forward(wide_loss, lse, wide_logits, targets, divisor);
    const auto wanted = targets.template data<int64_t>();
    const int64_t classes = wanted.empty() ? 0 : logits.n_elements() / targets.n_elements();
    double sum = 0.0;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
        if (wanted[r] == kIgnoredTarget) continue;
        const std::size_t at = r * static_cast<std::size_t>(classes) + static_cast<std::size_t>(wanted[r]);
        sum += rounded(lse.template data<float>()[r] - wide_logits.template data<float>()[at]);
    }
    wide_loss.template data<float>()[0] = static_cast<float>(sum / divisor);
    wide.round();
}

template <class Base>
void WithBfloat16<Base>::cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss,
                                                const Tensor& logits, const Tensor& lse,
                                                const Tensor& targets, double divisor) const {
    if (!is_bfloat16(dloss))
        return Widened<Base>::cross_entropy_backward(dlogits, dloss, logits, lse, targets, divisor);
    const int64_t classes = times(targets.n_elements(), logits.n_elements());
    Wide wide(*this, *this->device_);
    const Tensor log_p = wide.in(logits);
    const auto numbers = log_p.template data<float>();
    const auto lses = lse.template data<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = rounded(numbers[i] - lses[i / static_cast<std::size_t>(classes)]);
    // dloss / divisor is rounded too.
    const Tensor wide_dloss = wide.in(dloss);
    float& seed = wide_dloss.template data<float>()[0];
    seed = rounded(static_cast<float>(double{seed} / divisor));
    const Tensor zeros = wide.like(lse);
    Base::zero(zeros);
    Base::cross_entropy_backward(wide.out(dlogits), wide_dloss, log_p, zeros, targets, 1.0);
    wide.round();
}

template class Widened<CpuKernels>;
template class Widened<ReferenceKernels>;
template class WithBfloat16<CpuKernels>;
template class WithBfloat16<ReferenceKernels>;

}  // namespace meshscope::tensor
