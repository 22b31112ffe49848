// Cross-entropy, whole and by parts of the vocabulary.
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/cuda_operands.h"

namespace meshscope::backends::cuda {

using tensor::Tensor;

namespace {

MeshscopeEntropy entropy_of(const Tensor& logits, int64_t rows) {
    MeshscopeEntropy p{};
    p.logits = logits.raw();
    p.rows = rows;
    p.classes = rows == 0 ? 0 : logits.n_elements() / rows;
    return p;
}

constexpr int64_t kDouble = sizeof(double);

}  // namespace

void CudaKernels::cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                        const Tensor& targets, double divisor) const {
    MeshscopeEntropy p = entropy_of(logits, targets.n_elements());
    check_indices("cross_entropy", targets, p.classes, true);
    p.float_loss = loss.dtype() == DType::float32 ? 1 : 0;
    const GpuMemory losses(stream(), p.rows * kDouble);
    p.targets = integers(targets);
    p.lse = floats(lse);
    p.losses = losses.as<double>();
    if (p.rows > 0) run(MESHSCOPE_KERNEL_CROSS_ENTROPY, logits.dtype(), p, shape_of_rows(p.rows, p.classes));
    total(p.losses, p.rows, 1.0 / divisor, nullptr, loss);
}

void CudaKernels::entropy_backward(std::string_view kernel, const Tensor& dlogits, const Tensor& dloss,
                                   const Tensor& logits, const Tensor& lse, const Tensor& targets,
                                   int64_t first, double divisor, bool whole) const {
    const DType dtype = dlogits.dtype();
    MeshscopeEntropy p = entropy_of(logits, targets.n_elements());
    if (whole) check_indices(kernel, targets, p.classes, true);
    p.dlogits = dlogits.raw();
    p.dloss = dloss.raw();
    p.lse = floats(lse);
    p.targets = integers(targets);
    p.first = first;
    p.divisor = divisor;
    p.whole = whole ? 1 : 0;
    p.float_loss = dloss.dtype() == DType::float32 ? 1 : 0;
    const int64_t n = logits.n_elements();
    if (n > 0) run(MESHSCOPE_KERNEL_CROSS_ENTROPY_BACKWARD, dtype, p, shape_of_elements(n));
}

void CudaKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                         const Tensor& lse, const Tensor& targets, double divisor) const {
    entropy_backward("cross_entropy.backward", dlogits, dloss, logits, lse, targets, 0, divisor, true);
}

void CudaKernels::cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss,
                                              const Tensor& logits, const Tensor& lse, const Tensor& targets,
                                              int64_t first, double divisor) const {
    entropy_backward("cross_entropy.part.backward", dlogits, dloss, logits, lse, targets, first, divisor,
                     false);
}

void CudaKernels::row_max(const Tensor& largest, const Tensor& logits) const {
    const DType dtype = logits.dtype();
    MeshscopeEntropy p = entropy_of(logits, largest.n_elements());
    p.largest = floats(largest);
    if (p.rows > 0) run(MESHSCOPE_KERNEL_ROW_MAX, dtype, p, shape_of_rows(p.rows, p.classes));
}

void CudaKernels::row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const {
    const DType dtype = logits.dtype();
    MeshscopeEntropy p = entropy_of(logits, sums.n_elements());
    p.largest = floats(largest);
    p.sums = floats(sums);
    if (p.rows > 0) run(MESHSCOPE_KERNEL_ROW_SUM_EXP, dtype, p, shape_of_rows(p.rows, p.classes));
}

void CudaKernels::pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                               int64_t first) const {
    const DType dtype = logits.dtype();
    MeshscopeEntropy p = entropy_of(logits, picked.n_elements());
    p.targets = integers(targets);
    p.picked = floats(picked);
    p.first = first;
    if (p.rows > 0) run(MESHSCOPE_KERNEL_PICK_TARGETS, dtype, p, shape_of_elements(p.rows));
}

void CudaKernels::cross_entropy_of_parts(const Tensor& loss, const Tensor& lse, const Tensor& largest,
                                         const Tensor& sums, const Tensor& picked, const Tensor& targets,
                                         double divisor) const {
    MeshscopeEntropy p{};
    p.targets = integers(targets);
    p.rows = lse.n_elements();
    const GpuMemory losses(stream(), p.rows * kDouble);
    p.lse = floats(lse);
    p.largest = floats(largest);
    p.sums = floats(sums);
    p.picked = floats(picked);
    p.losses = losses.as<double>();
    if (p.rows > 0) run(MESHSCOPE_KERNEL_ENTROPY_OF_PARTS, DType::float32, p, shape_of_elements(p.rows));
    total(p.losses, p.rows, 1.0 / divisor, nullptr, loss);
}

}  // namespace meshscope::backends::cuda
