#include "core/tensor/shape.h"

#include <limits>
#include <stdexcept>
#include <string>

#include "core/base/error.h"

namespace meshscope::tensor {

void Shape::throw_too_many(std::size_t n) {
    throw InvalidArgument({"tensor.too_many_dims",
                           {{"dims", static_cast<int64_t>(n)}, {"most", static_cast<int64_t>(kMostDims)}}});
}

void Shape::throw_outside(std::size_t i) {
    throw std::out_of_range("Shape::at(" + std::to_string(i) + ")");
}

int64_t count(const Shape& shape) {
    // The bound leaves room for 8 bytes an element.
    constexpr int64_t kMostElements = std::numeric_limits<int64_t>::max() / 8;
    int64_t n = 1;
    for (const int64_t dim : shape) {
        if (dim < 0 || (dim > 0 && n > kMostElements / dim))
            throw InvalidArgument({"tensor.bad_shape", {{"shape", shape}}});
        n *= dim;
    }
    return n;
}

}  // namespace meshscope::tensor
