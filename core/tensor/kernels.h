#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/tensor/attention.h"
#include "core/tensor/tensor.h"

namespace meshscope::tensor {

/// A target of cross-entropy that stands for none: torch.nn.functional.cross_entropy's own ignore_index.
inline constexpr int64_t kIgnoredTarget = -100;

/// One step of torch.optim.SGD (dampening 0, no Nesterov).
struct SgdStep {
    double lr = 0.1;
    double momentum = 0.0;
    double weight_decay = 0.0;  ///< added to the gradient as weight_decay · value
    bool first = false;         ///< the first step of this parameter: the buffer becomes the gradient
};

/// One step of torch.optim.Adam (decoupled = false: the decay is added to the gradient) or AdamW (decoupled =
/// true: the value shrinks by lr · weight_decay first). `step` counts from 1.
struct AdamStep {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    bool decoupled = false;
    int64_t step = 1;
};

/// One parameter of Kernels::adam_steps: what adam_step takes.
struct AdamTensors {
    const Tensor* value = nullptr;
    const Tensor* grad = nullptr;
    const Tensor* m = nullptr;
    const Tensor* v = nullptr;
};

/// What calls cost, as kernels.def counts it.
struct KernelCost {
    int64_t operations = 0;
    int64_t bytes = 0;  ///< between the processor and memory
    /// In which the numbers are held; of several calls that with the most operations decides.
    DType dtype = DType::float32;
    int64_t most_operations = -1;  ///< of one call

    /// One more call.
    void add(const KernelCost& call) {
        operations += call.operations;
        bytes += call.bytes;
        if (call.operations <= most_operations) return;
        most_operations = call.operations;
        dtype = call.dtype;
    }
};

/// Is shown what calls read and write, of the operands that kernels.def marks as recorded.
class OperandSink {
  public:
    virtual ~OperandSink() = default;
    /// Before the call what it reads, after it (`written`) what it wrote; both of what it updates. `name` as
    /// kernels.def calls it ("y"); it lasts as long as the program.
    virtual void operand(std::string_view name, const Tensor& tensor, bool written) = 0;
};

/// What a device implements: the work of every kernel of kernels.def, of operands that are known to fit.
/// Thread-safe: kernels keep no state.
class KernelWork {
  public:
    virtual ~KernelWork() = default;
#define KERNEL(result, method, name, parameters, ...) virtual result method parameters const = 0;
#include "core/tensor/kernels.def"
    /// As Kernels::adam_steps: one after the other, unless a device knows better.
    virtual void adam_steps(std::span<const AdamTensors> parameters, const AdamStep& step) const {
        for (const auto& [value, grad, m, v] : parameters) adam_step(*value, *grad, *m, *v, step);
    }
};

/// Every operation of the engine on one device: kernels.def lists them and says what each does. A call's
/// operands are checked against the declaration, the same way for every device; a mismatch throws
/// InvalidArgument: "kernel.shape" {kernel, shape, wanted}, "tensor.wrong_dtype".
///
/// To add a kernel: its entry in kernels.def, its work in ReferenceKernels and CudaKernels (and in CpuKernels
/// where the reference is too slow), its id in backends/cuda/gpu_kernels.h, its words, and its test
/// (docs/architecture.md). Checks, the dry device, bfloat16 on CPUs and what an event costs come from the
/// entry.
class Kernels {
  public:
    /// `work` must outlive it.
    explicit Kernels(const KernelWork& work) : work_(&work) {}
    /// The same; what each call costs is added to `cost`, which must outlive them.
    Kernels counting(KernelCost& cost) const {
        Kernels result = *this;
        result.cost_ = &cost;
        return result;
    }
    /// The same; each call's operands are shown to `sink`, which must outlive them.
    Kernels showing(OperandSink& sink) const {
        Kernels result = *this;
        result.sink_ = &sink;
        return result;
    }

#define KERNEL(result, method, name, parameters, ...) result method parameters const;
#include "core/tensor/kernels.def"
    /// adam_step of each parameter, which have no memory in common, with the same bits; a device for which
    /// every call is dear does all of them at once (torch.optim.Adam with fused=True).
    void adam_steps(std::span<const AdamTensors> parameters, const AdamStep& step) const;

  private:
    const KernelWork* work_;
    KernelCost* cost_ = nullptr;
    OperandSink* sink_ = nullptr;
};

}  // namespace meshscope::tensor
