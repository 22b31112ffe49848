#pragma once

// What the bfloat16 kernels are made of.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/kernel_declaration.h"
#include "core/tensor/kernels.h"

namespace meshscope::tensor {

/// The nearest bfloat16, as a float.
inline float rounded(float x) {
    return from_bfloat16(to_bfloat16(x));
}

/// The float32 copies of one call.
class Wide {
  public:
    Wide(const KernelWork& kernels, Device& device) : kernels_(&kernels), scratch_(device) {}

    /// Uninitialised float32 of the same shape; undefined for undefined.
    Tensor like(const Tensor& tensor) {
        if (!tensor.defined()) return {};
        return scratch_.empty(tensor.shape(), DType::float32, MemoryCategory::temporaries, "widened");
    }
    Tensor ones(const Tensor& tensor) {
        Tensor wide = like(tensor);
        kernels_->fill(wide, 1.0F);
        return wide;
    }
    Tensor in(const Tensor& tensor) {
        Tensor wide = like(tensor);
        if (tensor.defined()) kernels_->cast(wide, tensor);
        return wide;
    }
    /// What round() will round into `tensor`.
    Tensor out(const Tensor& tensor) {
        Tensor wide = like(tensor);
        if (tensor.defined()) results_.push_back({tensor, wide, false});
        return wide;
    }
    Tensor in_out(const Tensor& tensor) {
        Tensor wide = in(tensor);
        if (tensor.defined()) results_.push_back({tensor, wide, false});
        return wide;
    }
    /// A gradient, which round() rounds first and then, when `accumulate`, adds to what `tensor` holds, and
    /// rounds again: PyTorch makes a gradient of its own and then adds.
    Tensor grad(const Tensor& tensor, bool accumulate) {
        Tensor wide = like(tensor);
        if (tensor.defined()) results_.push_back({tensor, wide, accumulate});
        return wide;
    }
    void round_in_place(const Tensor& wide) {
        for (float& x : wide.data<float>()) x = rounded(x);
    }
    void round() {
        for (const auto& [tensor, wide, accumulate] : results_) {
            if (accumulate) {
                round_in_place(wide);
                kernels_->axpy(wide, 1.0F, in(tensor));
            }
            kernels_->cast(tensor, wide);
        }
    }

  private:
    struct Result {
        Tensor tensor;
        Tensor wide;
        bool accumulate;
    };
    const KernelWork* kernels_;
    Allocator scratch_;
    std::vector<Result> results_;
};

/// One call with its numbers widened: `work` is called with float32 copies in place of the operands that hold
/// the call's numbers, or others that are not float32, and what it wrote is rounded into them. A call of
/// float32 goes straight to it.
template <class Work>
class WidenedCall {
  public:
    WidenedCall(const KernelDeclaration& declaration, const KernelWork& kernels, Device& device,
                const Work& work)
        : declaration_(declaration), kernels_(kernels), device_(device), work_(work) {}

    template <class... Arguments>
    auto operator()(const Arguments&... arguments) {
        (look_at(arguments), ...);
        if (!narrow_) return work_(arguments...);
        n_ = 0;
        Wide wide(kernels_, device_);
        const std::tuple<Arguments...> copies{copy(wide, arguments)...};
        if constexpr (std::is_void_v<decltype(work_(arguments...))>) {
            std::apply(work_, copies);
            wide.round();
        } else {
            const auto result = std::apply(work_, copies);
            wide.round();
            return result;
        }
    }

  private:
    bool holds_numbers(const Operand& operand) const {
        return operand.numbers == Operand::Numbers::of_call ||
               operand.numbers == Operand::Numbers::of_call_or_half;
    }
    template <class Argument>
    void look_at(const Argument& argument) {
        if constexpr (std::is_same_v<Argument, Tensor>) {
            const Operand& operand = declaration_.operands[n_++];
            if (holds_numbers(operand) && argument.defined() && argument.dtype() != DType::float32)
                narrow_ = true;
        } else if constexpr (std::is_same_v<Argument, bool>) {
            accumulates_ = argument;
        }
    }
    Tensor copy(Wide& wide, const Tensor& tensor) {
        const Operand& operand = declaration_.operands[n_++];
        const bool other = operand.numbers == Operand::Numbers::floats && tensor.dtype() != DType::float32;
        if (!holds_numbers(operand) && !other) return tensor;
        switch (operand.use) {
            case Operand::Use::read:
                return wide.in(tensor);
            case Operand::Use::written:
                return wide.out(tensor);
            case Operand::Use::updated:
                return wide.in_out(tensor);
            case Operand::Use::gradient:
                break;
        }
        return wide.grad(tensor, accumulates_);
    }
    /// A gradient's sum is rounded in two steps: Wide adds.
    bool copy(Wide&, bool flag) const {
        return declaration_.operands[0].use == Operand::Use::gradient ? false : flag;
    }
    template <class Argument>
    const Argument& copy(Wide&, const Argument& argument) const {
        return argument;
    }

    const KernelDeclaration& declaration_;
    const KernelWork& kernels_;
    Device& device_;
    const Work& work_;
    std::size_t n_ = 0;  ///< tensors seen
    bool narrow_ = false, accumulates_ = false;
};

}  // namespace meshscope::tensor
