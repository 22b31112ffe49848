#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "core/tensor/kernel_declaration.h"
#include "core/tensor/kernels.h"

namespace meshscope::tensor {

/// One call of a kernel beside its declaration: `KernelCall call(declaration); call(arguments…);` checks it.
/// The arguments must outlive it.
class KernelCall {
  public:
    explicit KernelCall(const KernelDeclaration& declaration) : declaration_(declaration) {}

    /// Throws InvalidArgument: "kernel.shape" {kernel, shape, wanted} where an operand is undefined or its
    /// shape does not go with the others', "tensor.wrong_dtype". Cost: no allocation, some 50 ns.
    template <class... Arguments>
    void operator()(const Arguments&... arguments) {
        (take(arguments), ...);
        check_shapes();
        check_dtypes();
    }

    /// The dtype of the call's numbers: bfloat16 or float16 where one of them is; of a cast, the output's.
    DType dtype() const { return dtype_; }
    KernelCost cost() const;
    /// Shows the operands that are for the record: those that it reads, or those that it has written. Beside
    /// what attention reads also which tokens they are ("q_positions", "k_positions"), where the call says
    /// so.
    void show(OperandSink& sink, bool written) const;

  private:
    struct Given {
        const Tensor* tensor = nullptr;  ///< null for the host's numbers
        int64_t n_elements = 0;
    };

    void take(const Tensor& tensor) { given_[n_given_++] = {&tensor, tensor.n_elements()}; }
    void take(std::span<const float> numbers) {
        given_[n_given_++] = {nullptr, static_cast<int64_t>(numbers.size())};
    }
    void take(std::span<float> numbers) { take(std::span<const float>(numbers)); }
    void take(bool accumulate) { accumulates_ = accumulate; }
    void take(const AttentionShape& shape);
    void take(const RotaryShape& shape);
    void take(const SgdStep& step);
    void take(const AdamStep&) {}
    void take(std::floating_point auto) {}
    void take(int64_t) {}

    void check_shapes();
    void check_dtypes();
    bool is_given(std::size_t i) const { return given_[i].tensor == nullptr || given_[i].tensor->defined(); }
    void match(std::size_t i);
    void match_rows(std::size_t i);
    void set(std::size_t i, Size size, int64_t value);
    void expect_positions(const Tensor& positions, int64_t tokens) const;
    [[noreturn]] void refuse(const Shape& shape, const Shape& wanted) const;
    [[noreturn]] void refuse(std::size_t i) const;

    const KernelDeclaration& declaration_;
    Sizes sizes_;
    Given given_[KernelDeclaration::kMostOperands];
    std::size_t n_given_ = 0;
    const Tensor* first_rows_ = nullptr;
    const AttentionShape* attention_ = nullptr;
    bool accumulates_ = false;
    DType dtype_ = DType::float32;
};

}  // namespace meshscope::tensor
