#pragma once

#include <string_view>

#include "backends/cuda/gpu_launch.h"
#include "core/tensor/kernels.h"

namespace meshscope::backends::cuda {

class CudaDevice;

using tensor::AdamStep;
using tensor::AttentionShape;
using tensor::RotaryShape;
using tensor::SgdStep;
using tensor::Tensor;

/// The kernels of a CudaDevice, enqueued in its compute stream; upload, download and sum_of_squares are as
/// CudaDevice's.
///
/// Orders of sums, which depend on the shapes alone: a row (norms, softmax): each thread its elements 256
/// apart, then lanes 16, 8, 4, 2, 1 apart, then warps, the first first; columns (bias and norm weights): in
/// slices of 128 rows or more, each 8 apart, then these eight, then the slices; losses and squares in double,
/// likewise; attention: keys in order, 32 or fewer at a time; matrix products: the library's, by an algorithm
/// chosen by shapes and device. No float is added atomically.
class CudaKernels final : public tensor::KernelWork {
  public:
    explicit CudaKernels(const CudaDevice& device) : device_(&device) {}

#define KERNEL(result, method, name, parameters, ...) result method parameters const override;
#include "core/tensor/kernels.def"
    void adam_steps(std::span<const tensor::AdamTensors> parameters,
                    const tensor::AdamStep& step) const override;

  private:
    const GpuStream& stream() const;
    template <class Parameters>
    void run(int32_t kernel, DType dtype, const Parameters& parameters, const LaunchShape& shape) const {
        launch(stream(), kernel, static_cast<int32_t>(dtype), parameters, shape);
    }
    /// One kernel over p.n elements.
    void elements(int32_t kernel, DType dtype, const MeshscopeElements& p) const;
    /// One kernel of sums over columns, in slices of the rows, and their total.
    void columns(int32_t kernel, DType dtype, const MeshscopeColumns& p) const;
    void product(DType dtype, const MeshscopeGpuProduct& product) const;
    /// Enqueues the check of indices against `rows`.
    void check_indices(std::string_view kernel, const tensor::Tensor& indices, int64_t rows,
                       bool may_be_ignored = false) const;
    void embed(std::string_view kernel, const tensor::Tensor& y, const tensor::Tensor& table,
               const tensor::Tensor& indices, int64_t first, bool checks) const;
    void embed_backward(std::string_view kernel, const tensor::Tensor& dtable, const tensor::Tensor& dy,
                        const tensor::Tensor& indices, int64_t first, bool accumulate, bool checks) const;
    /// *loss = factor * the sum of n doubles.
    void total(const double* numbers, int64_t n, double factor, double* sum,
               const tensor::Tensor& loss) const;
    void entropy_backward(std::string_view kernel, const tensor::Tensor& dlogits, const tensor::Tensor& dloss,
                          const tensor::Tensor& logits, const tensor::Tensor& lse,
                          const tensor::Tensor& targets, int64_t first, double divisor, bool whole) const;

    const CudaDevice* device_;
};

}  // namespace meshscope::backends::cuda
