#pragma once

#include "core/tensor/kernel_call.h"
#include "core/tensor/kernels_cpu.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {

/// `Base`'s kernels, of float32, made to take bfloat16 (and float16, where a kernel does) as well: what a
/// declaration says is read is widened to float32 (exactly), Base computes, and what it wrote is rounded
/// once, ties to even. So sums are float32 sums, as PyTorch's are on a CPU. A call of float32 alone goes
/// straight to Base. Figures of a row (mean, rstd, lse, largest, sums, picked) are float32 all the way;
/// PyTorch's loss_parallel rounds the last three to bfloat16 as they travel.
///
/// The float32 copies are as large as the call's operands, live as long as the call, and are not reported to
/// any sink.
template <class Base>
class Widened : public Base {
  public:
    /// Copies are made on `device`, which must outlive the kernels.
    explicit Widened(Device& device) : device_(&device) {}

#define KERNEL(result, method, name, parameters, ...) result method parameters const override;
#include "core/tensor/kernels.def"

  protected:
    Device* device_;
};

/// Widened, and where PyTorch makes one of our kernels of two, and rounds between, so is done here; as it is
/// for gradients that are added to others.
template <class Base>
class WithBfloat16 final : public Widened<Base> {
  public:
    using Widened<Base>::Widened;

    void silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const override;
    void silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy, const Tensor& gate,
                           const Tensor& up) const override;
    void cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                               const Tensor& targets, double divisor) const override;
    void cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                const Tensor& lse, const Tensor& targets, double divisor) const override;
};

extern template class Widened<CpuKernels>;
extern template class Widened<ReferenceKernels>;
extern template class WithBfloat16<CpuKernels>;
extern template class WithBfloat16<ReferenceKernels>;

}  // namespace meshscope::tensor
