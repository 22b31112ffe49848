// Batch norm, whose statistics may be shared between ranks.
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/cuda_operands.h"
#include "backends/cuda/gpu_launch.h"

namespace meshscope::backends::cuda {

using tensor::Tensor;

namespace {

/// Of `mean`'s width and as many rows as `x` has of it.
MeshscopeBatchNorm batch_norm_of(const Tensor& out, const Tensor& x, const Tensor& mean,
                                 const Tensor& invstd) {
    MeshscopeBatchNorm p{};
    p.out = floats(out);
    p.x = floats(x);
    p.mean = floats(mean);
    p.invstd = floats(invstd);
    p.width = mean.n_elements();
    p.rows = p.width == 0 ? 0 : x.n_elements() / p.width;
    return p;
}

}  // namespace

void CudaKernels::batch_norm_stats(const Tensor& statistics, const Tensor& x, double eps) const {
    MeshscopeBatchNorm p{};
    p.out = floats(statistics);
    p.x = floats(x);
    p.width = (statistics.n_elements() - 1) / 2;
    p.rows = p.width == 0 ? 0 : x.n_elements() / p.width;
    p.eps = eps;
    if (p.width > 0) run(MESHSCOPE_KERNEL_BATCH_NORM_STATS, DType::float32, p, shape_of_elements(p.width));
}

int64_t CudaKernels::batch_norm_gather_stats(const Tensor& mean, const Tensor& invstd,
                                             const Tensor& running_mean, const Tensor& running_var,
                                             const Tensor& statistics, double momentum, double eps) const {
    MeshscopeBatchNorm p{};
    p.out = floats(mean);
    p.out2 = floats(invstd);
    p.running_mean = floats(running_mean);
    p.running_var = floats(running_var);
    p.statistics = floats(statistics);
    p.width = mean.n_elements();
    p.parts = statistics.n_elements() / (2 * p.width + 1);
    p.momentum = momentum;
    p.eps = eps;
    // How many rows there are the host wants to know: it waits for the statistics.
    std::vector<float> numbers(static_cast<std::size_t>(statistics.n_elements()));
    download(numbers, statistics);
    for (int64_t part = 1; part <= p.parts; ++part)
        p.all_rows += static_cast<int64_t>(numbers[static_cast<std::size_t>(part * (2 * p.width + 1) - 1)]);
    if (p.width > 0)
        run(MESHSCOPE_KERNEL_BATCH_NORM_GATHER_STATS, DType::float32, p, shape_of_elements(p.width));
    return p.all_rows;
}

void CudaKernels::batch_norm_elemt(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& invstd,
                                   const Tensor& weight, const Tensor& bias) const {
    MeshscopeBatchNorm p = batch_norm_of(y, x, mean, invstd);
    p.weight = floats(weight);
    p.bias = floats(bias);
    if (p.rows > 0)
        run(MESHSCOPE_KERNEL_BATCH_NORM_ELEMT, DType::float32, p, shape_of_elements(p.rows * p.width));
}

void CudaKernels::batch_norm_backward_reduce(const Tensor& sums, const Tensor& dw, const Tensor& db,
                                             const Tensor& dy, const Tensor& x, const Tensor& mean,
                                             const Tensor& invstd) const {
    MeshscopeBatchNorm p = batch_norm_of(sums, x, mean, invstd);
    p.out2 = floats(dw);
    p.out3 = floats(db);
    p.dy = floats(dy);
    if (p.width > 0)
        run(MESHSCOPE_KERNEL_BATCH_NORM_BACKWARD_REDUCE, DType::float32, p, shape_of_elements(p.width));
}

void CudaKernels::batch_norm_backward_elemt(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                            const Tensor& mean, const Tensor& invstd, const Tensor& weight,
                                            const Tensor& sums, int64_t rows) const {
    MeshscopeBatchNorm p = batch_norm_of(dx, x, mean, invstd);
    p.dy = floats(dy);
    p.weight = floats(weight);
    p.sums = floats(sums);
    p.all_rows = rows;
    if (p.rows > 0)
        run(MESHSCOPE_KERNEL_BATCH_NORM_BACKWARD_ELEMT, DType::float32, p,
            shape_of_elements(p.rows * p.width));
}

}  // namespace meshscope::backends::cuda
