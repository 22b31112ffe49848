#pragma once

#include "core/tensor/kernels_cpu.h"
#include "core/tensor/kernels_reference.h"

namespace meshscope::tensor {

/// The share of WithBfloat16 for tables and logits that tensor parallelism has cut: operands are widened to
/// float32, `Base` computes, and what it wrote is rounded to bfloat16 once. The figures of a row (largest,
/// sums, picked, lse) are float32 all the way; PyTorch's loss_parallel rounds them to bfloat16 as they
/// travel.
template <class Base>
class WithBfloat16Parts : public Base {
  public:
    /// Copies are made on `device`, which must outlive the kernels.
    explicit WithBfloat16Parts(Device& device) : device_(&device) {}

    void embedding_part_forward(const Tensor& y, const Tensor& table, const Tensor& indices,
                                int64_t first) const override;
    void embedding_part_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices, int64_t first,
                                 bool accumulate) const override;
    void row_max(const Tensor& largest, const Tensor& logits) const override;
    void row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const override;
    void pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                      int64_t first) const override;
    void cross_entropy_of_parts(const Tensor& loss, const Tensor& lse, const Tensor& largest,
                                const Tensor& sums, const Tensor& picked) const override;
    void cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                     const Tensor& lse, const Tensor& targets, int64_t first) const override;

  private:
    Device* device_;
};

extern template class WithBfloat16Parts<CpuKernels>;
extern template class WithBfloat16Parts<ReferenceKernels>;

}  // namespace meshscope::tensor
