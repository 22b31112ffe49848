#pragma once

// What the bfloat16 kernels are made of.

#include <initializer_list>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/dtype.h"
#include "core/tensor/kernels.h"

namespace meshscope::tensor {

/// Whether a call's float operands are bfloat16: all of them or none (undefined ones do not count). A mixture
/// throws InvalidArgument ("tensor.wrong_dtype").
inline bool is_bfloat16(std::initializer_list<Tensor> operands) {
    const auto half = [](const Tensor& t) { return t.defined() && t.dtype() == DType::bfloat16; };
    bool found = false;
    for (const Tensor& operand : operands) found = found || half(operand);
    if (!found) return false;
    for (const Tensor& operand : operands)
        if (operand.defined() && !half(operand))
            throw InvalidArgument({"tensor.wrong_dtype",
                                   {{"dtype", std::string(name(operand.dtype()))},
                                    {"wanted", std::string(name(DType::bfloat16))}}});
    return true;
}

/// The nearest bfloat16, as a float.
inline float rounded(float x) {
    return from_bfloat16(to_bfloat16(x));
}

/// The float32 copies of one call.
class Wide {
  public:
    Wide(const Kernels& kernels, Device& device) : kernels_(&kernels), scratch_(device) {}

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
    const Kernels* kernels_;
    Allocator scratch_;
    std::vector<Result> results_;
};

}  // namespace meshscope::tensor
