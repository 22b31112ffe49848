#pragma once

#include <initializer_list>
#include <string_view>

#include "backends/cuda/gpu_launch.h"
#include "core/tensor/kernels.h"
#include "core/tensor/kernels_dry.h"

namespace meshscope::backends::cuda {

class CudaDevice;

/// The kernels of a CudaDevice, enqueued in its compute stream; upload, download and sum_of_squares are as
/// CudaDevice's. What each call takes is checked on the host before anything is enqueued.
///
/// Orders of sums, which depend on the shapes alone: a row (norms, softmax): each thread its elements 256
/// apart, then lanes 16, 8, 4, 2, 1 apart, then warps, the first first; columns (bias and norm weights): in
/// slices of 128 rows or more, each 8 apart, then these eight, then the slices; losses and squares in double,
/// likewise; attention: keys in order, 32 or fewer at a time; matrix products: the library's, by an algorithm
/// chosen by shapes and device. No float is added atomically.
class CudaKernels final : public tensor::Kernels {
  public:
    explicit CudaKernels(const CudaDevice& device) : device_(&device) {}

    void zero(const tensor::Tensor& out) const override;
    void fill(const tensor::Tensor& out, float value) const override;
    void copy(const tensor::Tensor& out, const tensor::Tensor& in) const override;
    void cast(const tensor::Tensor& out, const tensor::Tensor& in) const override;
    void upload(const tensor::Tensor& out, std::span<const float> numbers) const override;
    void download(std::span<float> numbers, const tensor::Tensor& in) const override;
    void scale(const tensor::Tensor& in_out, float factor) const override;
    void axpy(const tensor::Tensor& y, float a, const tensor::Tensor& x) const override;
    void add(const tensor::Tensor& out, const tensor::Tensor& a, const tensor::Tensor& b) const override;
    void add_rows(const tensor::Tensor& out, const tensor::Tensor& a,
                  const tensor::Tensor& row) const override;
    void multiply(const tensor::Tensor& out, const tensor::Tensor& a, const tensor::Tensor& b) const override;
    void linear_forward(const tensor::Tensor& y, const tensor::Tensor& x, const tensor::Tensor& weight,
                        const tensor::Tensor& bias) const override;
    void linear_input_grad(const tensor::Tensor& dx, const tensor::Tensor& dy,
                           const tensor::Tensor& weight) const override;
    void linear_weight_grad(const tensor::Tensor& dw, const tensor::Tensor& dy, const tensor::Tensor& x,
                            bool accumulate) const override;
    void linear_bias_grad(const tensor::Tensor& db, const tensor::Tensor& dy, bool accumulate) const override;
    void relu_forward(const tensor::Tensor& y, const tensor::Tensor& x) const override;
    void relu_backward(const tensor::Tensor& dx, const tensor::Tensor& dy,
                       const tensor::Tensor& y) const override;
    void gelu_tanh_forward(const tensor::Tensor& y, const tensor::Tensor& x) const override;
    void gelu_tanh_backward(const tensor::Tensor& dx, const tensor::Tensor& dy,
                            const tensor::Tensor& x) const override;
    void silu_mul_forward(const tensor::Tensor& y, const tensor::Tensor& gate,
                          const tensor::Tensor& up) const override;
    void silu_mul_backward(const tensor::Tensor& dgate, const tensor::Tensor& dup, const tensor::Tensor& dy,
                           const tensor::Tensor& gate, const tensor::Tensor& up) const override;
    void embedding_forward(const tensor::Tensor& y, const tensor::Tensor& table,
                           const tensor::Tensor& indices) const override;
    void embedding_backward(const tensor::Tensor& dtable, const tensor::Tensor& dy,
                            const tensor::Tensor& indices, bool accumulate) const override;
    void layer_norm_forward(const tensor::Tensor& y, const tensor::Tensor& mean, const tensor::Tensor& rstd,
                            const tensor::Tensor& x, const tensor::Tensor& weight, const tensor::Tensor& bias,
                            double eps) const override;
    void layer_norm_input_grad(const tensor::Tensor& dx, const tensor::Tensor& dy, const tensor::Tensor& x,
                               const tensor::Tensor& mean, const tensor::Tensor& rstd,
                               const tensor::Tensor& weight) const override;
    void layer_norm_weight_grad(const tensor::Tensor& dw, const tensor::Tensor& db, const tensor::Tensor& dy,
                                const tensor::Tensor& x, const tensor::Tensor& mean,
                                const tensor::Tensor& rstd, bool accumulate) const override;
    void rms_norm_forward(const tensor::Tensor& y, const tensor::Tensor& rstd, const tensor::Tensor& x,
                          const tensor::Tensor& weight, double eps) const override;
    void rms_norm_input_grad(const tensor::Tensor& dx, const tensor::Tensor& dy, const tensor::Tensor& x,
                             const tensor::Tensor& rstd, const tensor::Tensor& weight) const override;
    void rms_norm_weight_grad(const tensor::Tensor& dw, const tensor::Tensor& dy, const tensor::Tensor& x,
                              const tensor::Tensor& rstd, bool accumulate) const override;
    void batch_norm_stats(const tensor::Tensor& statistics, const tensor::Tensor& x,
                          double eps) const override;
    int64_t batch_norm_gather_stats(const tensor::Tensor& mean, const tensor::Tensor& invstd,
                                    const tensor::Tensor& running_mean, const tensor::Tensor& running_var,
                                    const tensor::Tensor& statistics, double momentum,
                                    double eps) const override;
    void batch_norm_elemt(const tensor::Tensor& y, const tensor::Tensor& x, const tensor::Tensor& mean,
                          const tensor::Tensor& invstd, const tensor::Tensor& weight,
                          const tensor::Tensor& bias) const override;
    void batch_norm_backward_reduce(const tensor::Tensor& sums, const tensor::Tensor& dw,
                                    const tensor::Tensor& db, const tensor::Tensor& dy,
                                    const tensor::Tensor& x, const tensor::Tensor& mean,
                                    const tensor::Tensor& invstd) const override;
    void batch_norm_backward_elemt(const tensor::Tensor& dx, const tensor::Tensor& dy,
                                   const tensor::Tensor& x, const tensor::Tensor& mean,
                                   const tensor::Tensor& invstd, const tensor::Tensor& weight,
                                   const tensor::Tensor& sums, int64_t rows) const override;
    void rotary(const tensor::Tensor& out, const tensor::Tensor& in, const tensor::RotaryShape& shape,
                bool inverse) const override;
    void attention_forward(const tensor::Tensor& o, const tensor::Tensor& lse, const tensor::Tensor& q,
                           const tensor::Tensor& k, const tensor::Tensor& v,
                           const tensor::AttentionShape& shape) const override;
    void attention_merge(const tensor::Tensor& o, const tensor::Tensor& lse, const tensor::Tensor& block_o,
                         const tensor::Tensor& block_lse, const tensor::AttentionShape& shape) const override;
    void attention_backward(const tensor::Tensor& dq, const tensor::Tensor& dk, const tensor::Tensor& dv,
                            const tensor::Tensor& dout, const tensor::Tensor& q, const tensor::Tensor& k,
                            const tensor::Tensor& v, const tensor::Tensor& o, const tensor::Tensor& lse,
                            const tensor::AttentionShape& shape) const override;
    void cross_entropy_forward(const tensor::Tensor& loss, const tensor::Tensor& lse,
                               const tensor::Tensor& logits, const tensor::Tensor& targets) const override;
    void cross_entropy_backward(const tensor::Tensor& dlogits, const tensor::Tensor& dloss,
                                const tensor::Tensor& logits, const tensor::Tensor& lse,
                                const tensor::Tensor& targets) const override;
    void embedding_part_forward(const tensor::Tensor& y, const tensor::Tensor& table,
                                const tensor::Tensor& indices, int64_t first) const override;
    void embedding_part_backward(const tensor::Tensor& dtable, const tensor::Tensor& dy,
                                 const tensor::Tensor& indices, int64_t first,
                                 bool accumulate) const override;
    void row_max(const tensor::Tensor& largest, const tensor::Tensor& logits) const override;
    void row_sum_exp(const tensor::Tensor& sums, const tensor::Tensor& logits,
                     const tensor::Tensor& largest) const override;
    void pick_targets(const tensor::Tensor& picked, const tensor::Tensor& logits,
                      const tensor::Tensor& targets, int64_t first) const override;
    void cross_entropy_of_parts(const tensor::Tensor& loss, const tensor::Tensor& lse,
                                const tensor::Tensor& largest, const tensor::Tensor& sums,
                                const tensor::Tensor& picked) const override;
    void cross_entropy_part_backward(const tensor::Tensor& dlogits, const tensor::Tensor& dloss,
                                     const tensor::Tensor& logits, const tensor::Tensor& lse,
                                     const tensor::Tensor& targets, int64_t first) const override;
    void mse_forward(const tensor::Tensor& loss, const tensor::Tensor& prediction,
                     const tensor::Tensor& target) const override;
    void mse_backward(const tensor::Tensor& dprediction, const tensor::Tensor& dloss,
                      const tensor::Tensor& prediction, const tensor::Tensor& target) const override;
    double sum_of_squares(const tensor::Tensor& in) const override;
    void sgd_step(const tensor::Tensor& value, const tensor::Tensor& grad, const tensor::Tensor& buffer,
                  const tensor::SgdStep& step) const override;
    void adam_step(const tensor::Tensor& value, const tensor::Tensor& grad, const tensor::Tensor& m,
                   const tensor::Tensor& v, const tensor::AdamStep& step) const override;
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
    void check_indices(std::string_view kernel, const tensor::Tensor& indices, int64_t rows) const;
    void embed(std::string_view kernel, const tensor::Tensor& y, const tensor::Tensor& table,
               const tensor::Tensor& indices, int64_t first, bool checks) const;
    void embed_backward(std::string_view kernel, const tensor::Tensor& dtable, const tensor::Tensor& dy,
                        const tensor::Tensor& indices, int64_t first, bool accumulate, bool checks) const;
    /// *loss = factor * the sum of n doubles.
    void total(const double* numbers, int64_t n, double factor, double* sum,
               const tensor::Tensor& loss) const;
    void entropy_backward(std::string_view kernel, const tensor::Tensor& dlogits, const tensor::Tensor& dloss,
                          const tensor::Tensor& logits, const tensor::Tensor& lse,
                          const tensor::Tensor& targets, int64_t first, bool whole) const;

    const CudaDevice* device_;
    tensor::DryKernels check_;  ///< knows every kernel's shapes
};

}  // namespace meshscope::backends::cuda
