#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace meshscope::tensor {

/// The sizes that a call's operands have in common, by the letters of kernels.def; -1 until one is found.
struct Sizes {
    int64_t one = 1, two = 2;
    int64_t n = -1;
    int64_t B = -1, I = -1, O = -1;
    int64_t N = -1, D = -1, V = -1;
    int64_t P = -1, S = -1;  ///< S = 2·D + 1
    /// From AttentionShape and RotaryShape. A head of queries and one of keys and values have e elements.
    int64_t b = -1, q = -1, k = -1, h = -1, g = -1, e = -1;
    int64_t pairs = -1;   ///< of a query and a key that it sees, all heads and batch rows
    int64_t states = -1;  ///< an element of a parameter, from SgdStep: 0 or 1
};
using Size = int64_t Sizes::*;

/// One operand of a kernel: what happens to it, its sizes, its dtype, its share of the bytes.
struct Operand {
    enum class Use : uint8_t {
        read,
        written,
        updated,   ///< read and written
        gradient,  ///< written, or added to where the call says `accumulate`
    };
    /// How the sizes stand in the tensor's shape.
    enum class Layout : uint8_t {
        elements,  ///< as many elements as their product
        matrix,    ///< they are its two dims
        row_list,  ///< the last is its last dim; all other dims are rows, and the same in all of the call's
    };
    enum class Numbers : uint8_t {
        of_call,          ///< float32 or bfloat16, all of the call's alike
        of_call_or_half,  ///< float16 too
        floats,           ///< of these three each what it is, or all alike
        alike,            ///< any dtype, all alike
        any,
        float32,
        int64,
    };

    Use use = Use::read;
    Layout layout = Layout::elements;
    Numbers numbers = Numbers::of_call;
    bool may_be_undefined = false;
    /// Its shape, and where it is small its numbers, are for the record at Level::values.
    bool is_recorded = false;
    int8_t n_sizes = 0;
    /// How often all of its bytes pass between the processor and memory in one call.
    int8_t n_passes = 1;
    std::array<Size, 4> sizes{};

    constexpr Operand matrix() const { return with(&Operand::layout, Layout::matrix); }
    constexpr Operand rows() const { return with(&Operand::layout, Layout::row_list); }
    constexpr Operand half() const { return with(&Operand::numbers, Numbers::of_call_or_half); }
    constexpr Operand floats() const { return with(&Operand::numbers, Numbers::floats); }
    constexpr Operand alike() const { return with(&Operand::numbers, Numbers::alike); }
    constexpr Operand any() const { return with(&Operand::numbers, Numbers::any); }
    constexpr Operand float32() const { return with(&Operand::numbers, Numbers::float32); }
    constexpr Operand int64() const { return with(&Operand::numbers, Numbers::int64); }
    constexpr Operand optional() const { return with(&Operand::may_be_undefined, true); }
    constexpr Operand recorded() const { return with(&Operand::is_recorded, true); }
    constexpr Operand passes(int8_t n) const { return with(&Operand::n_passes, n); }
    /// Not counted: little beside the others.
    constexpr Operand small() const { return passes(0); }
    /// One number a row or a column, float32 whatever the others are, and not counted.
    constexpr Operand figures() const { return float32().small(); }

  private:
    template <class T>
    constexpr Operand with(T Operand::*member, T value) const {
        Operand result = *this;
        result.*member = value;
        return result;
    }
};

/// What kernels.def says of one kernel.
struct KernelDeclaration {
    static constexpr std::size_t kMostOperands = 10;

    std::string_view name;
    std::span<const Operand> operands;  ///< in the order of the parameters
    int64_t (*operations)(const Sizes&);
    /// The operands in an order in which each has its sizes known, or to be found from its shape.
    std::array<uint8_t, kMostOperands> order;
    /// What its parameters call them: "y", "x", "weight".
    std::array<std::string_view, kMostOperands> names;
};

/// KernelDeclaration::names: of "(const Tensor& y, float a, std::span<const float> x)" y and x, as numbers
/// that are no tensor's are no operand.
consteval std::array<std::string_view, KernelDeclaration::kMostOperands> names_of(
    std::string_view parameters) {
    std::array<std::string_view, KernelDeclaration::kMostOperands> names{};
    std::size_t n = 0;
    while (!parameters.empty()) {
        const std::size_t end = parameters.find_first_of(",)");
        const std::string_view parameter = parameters.substr(0, end);
        if (parameter.find("Tensor&") != std::string_view::npos ||
            parameter.find("span<") != std::string_view::npos)
            names[n++] = parameter.substr(parameter.rfind(' ') + 1);
        parameters.remove_prefix(end == std::string_view::npos ? parameters.size() : end + 1);
    }
    return names;
}

/// KernelDeclaration::order: those of one size and matrices first, as nothing can be divided by a size of 0.
/// Does not compile where operands leave a size open.
consteval std::array<uint8_t, KernelDeclaration::kMostOperands> order_of(std::span<const Operand> operands) {
    std::array<uint8_t, KernelDeclaration::kMostOperands> order{};
    std::array<bool, KernelDeclaration::kMostOperands> done{};
    Sizes known;  // 0 or more: known
    known.b = known.q = known.k = known.h = known.g = known.e = 0;
    std::size_t n = 0;
    const auto take = [&](std::size_t i, bool finds_all) {
        int open = 0;
        for (int s = 0; s < operands[i].n_sizes; ++s)
            if (known.*operands[i].sizes[static_cast<std::size_t>(s)] < 0) ++open;
        if (done[i] || (open > 0 && operands[i].may_be_undefined) || (open > 1 && !finds_all)) return;
        for (int s = 0; s < operands[i].n_sizes; ++s)
            known.*operands[i].sizes[static_cast<std::size_t>(s)] = 0;
        if (known.S >= 0) known.D = 0;
        if (known.D >= 0) known.S = 0;
        done[i] = true;
        order[n++] = static_cast<uint8_t>(i);
    };
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool is_matrix = operands[i].layout == Operand::Layout::matrix;
        if (is_matrix || operands[i].n_sizes == 1) take(i, is_matrix);
    }
    while (n < operands.size()) {
        const std::size_t before = n;
        for (std::size_t i = 0; i < operands.size(); ++i) take(i, false);
        if (n == before) throw "operands leave a size open";
    }
    return order;
}

}  // namespace meshscope::tensor
