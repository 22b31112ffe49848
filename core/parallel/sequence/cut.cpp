#include "core/parallel/sequence/cut.h"

#include "core/base/error.h"

namespace meshscope::parallel {

using tensor::Shape;
using tensor::Tensor;

Cut Cut::of(const Shape& whole, int tensor_dim, int64_t parts) {
    const auto dim = static_cast<std::size_t>(tensor_dim);
    if (whole.at(dim) % parts != 0)
        throw InvalidArgument(
            {"sp.uneven", {{"shape", whole}, {"tensor_dim", int64_t{tensor_dim}}, {"ranks", parts}}});
    Cut cut{parts, 1, whole[dim] / parts};
    for (std::size_t d = 0; d < dim; ++d) cut.outer *= whole[d];
    for (std::size_t d = dim + 1; d < whole.size(); ++d) cut.run *= whole[d];
    return cut;
}

Shape scaled(Shape shape, int tensor_dim, int64_t times, int64_t parts) {
    int64_t& size = shape.at(static_cast<std::size_t>(tensor_dim));
    size = size * times / parts;
    return shape;
}

void copy_parts(const tensor::Kernels& kernels, const Tensor& whole, const Tensor& joined, const Cut& cut,
                bool to_whole) {
    for (int64_t part = 0; part < cut.parts; ++part)
        for (int64_t o = 0; o < cut.outer; ++o) {
            const Tensor there = whole.slice((o * cut.parts + part) * cut.run, cut.run);
            const Tensor here = joined.slice(part * cut.part_elements() + o * cut.run, cut.run);
            kernels.copy(to_whole ? there : here, to_whole ? here : there);
        }
}

}  // namespace meshscope::parallel
