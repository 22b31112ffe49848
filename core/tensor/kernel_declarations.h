#pragma once

// For each kernel of kernels.def its declaration, as declared::METHOD::kDeclaration.

#include "core/tensor/kernel_declaration.h"

namespace meshscope::tensor {

// Clang instantiates a member template at the end of a file only, too late for the constants below.
template Operand Operand::with(Operand::Layout Operand::*, Operand::Layout) const;
template Operand Operand::with(Operand::Numbers Operand::*, Operand::Numbers) const;
template Operand Operand::with(bool Operand::*, bool) const;
template Operand Operand::with(int8_t Operand::*, int8_t) const;

}  // namespace meshscope::tensor

namespace meshscope::tensor::declared {

template <class... Letters>
constexpr Operand operand(Operand::Use use, Letters... letters) {
    Operand result;
    result.use = use;
    result.n_sizes = static_cast<int8_t>(sizeof...(letters));
    result.sizes = {letters...};
    if (use == Operand::Use::updated) result.n_passes = 2;
    return result;
}
template <class... Letters>
constexpr Operand in(Letters... letters) {
    return operand(Operand::Use::read, letters...);
}
template <class... Letters>
constexpr Operand out(Letters... letters) {
    return operand(Operand::Use::written, letters...);
}
template <class... Letters>
constexpr Operand update(Letters... letters) {
    return operand(Operand::Use::updated, letters...);
}
template <class... Letters>
constexpr Operand gradient(Letters... letters) {
    return operand(Operand::Use::gradient, letters...);
}

/// What operands are declared by. In a kernel's operations the same names are the sizes themselves.
namespace letters {
inline constexpr Size one = &Sizes::one, two = &Sizes::two, n = &Sizes::n;
inline constexpr Size B = &Sizes::B, I = &Sizes::I, O = &Sizes::O;
inline constexpr Size N = &Sizes::N, D = &Sizes::D, V = &Sizes::V, P = &Sizes::P, S = &Sizes::S;
inline constexpr Size b = &Sizes::b, q = &Sizes::q, k = &Sizes::k;
inline constexpr Size h = &Sizes::h, g = &Sizes::g, e = &Sizes::e;
}  // namespace letters

#define KERNEL(result, method, name, parameters, arguments, operations, ...)                                 \
    namespace method {                                                                                       \
    using namespace letters;                                                                                 \
    struct Count : Sizes {                                                                                   \
        int64_t total() const { return operations; }                                                         \
    };                                                                                                       \
    inline constexpr Operand kOperands[] = {__VA_ARGS__};                                                    \
    static_assert(std::size(kOperands) <= KernelDeclaration::kMostOperands);                                 \
    inline constexpr KernelDeclaration kDeclaration{name, kOperands,                                         \
                                                    [](const Sizes& sizes) { return Count{sizes}.total(); }, \
                                                    order_of(kOperands), names_of(#parameters)};             \
    }
#include "core/tensor/kernels.def"

}  // namespace meshscope::tensor::declared
