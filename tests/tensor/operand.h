#pragma once

#include <cstdint>
#include <vector>

namespace meshscope::tensor {

/// A matrix as a product is given it: its numbers, or its transpose's, by rows `stride` apart.
struct Operand {
    const std::vector<float>& numbers;
    int64_t stride;
    bool transposed = false;

    double at(int64_t row, int64_t column) const {
        const int64_t i = transposed ? column * stride + row : row * stride + column;
        return double{numbers[static_cast<std::size_t>(i)]};
    }
};

/// Element (row, column) of A · B, in double: what every kernel's own sum of `terms` products is held
/// against.
inline double element(const Operand& a, const Operand& b, int64_t row, int64_t column, int64_t terms) {
    double sum = 0;
    for (int64_t l = 0; l < terms; ++l) sum += a.at(row, l) * b.at(l, column);
    return sum;
}

}  // namespace meshscope::tensor
