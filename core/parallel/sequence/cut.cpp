#include "core/parallel/sequence/cut.h"

namespace meshscope::parallel {

using tensor::Shape;
using tensor::Tensor;

Cut Cut::of(const Shape& whole, int tensor_dim, int64_t parts) {
    const auto dim = static_cast<std::size_t>(tensor_dim);
    Cut cut{parts, 1, 1, {whole.at(dim), parts}};
    for (std::size_t d = 0; d < dim; ++d) cut.outer *= whole[d];
    for (std::size_t d = dim + 1; d < whole.size(); ++d) cut.inner *= whole[d];
    return cut;
}

Shape resized(Shape shape, int tensor_dim, int64_t size) {
    shape.at(static_cast<std::size_t>(tensor_dim)) = size;
    return shape;
}

Shape scaled(Shape shape, int tensor_dim, int64_t times, int64_t parts) {
    int64_t& size = shape.at(static_cast<std::size_t>(tensor_dim));
    size = size * times / parts;
    return shape;
}

void copy_parts(const tensor::Kernels& kernels, const Tensor& whole, const Tensor& joined, const Cut& cut,
                bool to_whole) {
    for (int64_t part = 0; part < cut.parts; ++part) {
        const int64_t run = cut.run_of(part);
        if (run == 0) break;  // so are those behind it
        for (int64_t o = 0; o < cut.outer; ++o) {
            const Tensor there = whole.slice(cut.begin(part, o), run);
            const Tensor here = joined.slice(part * cut.part_elements() + o * cut.padded_run(), run);
            kernels.copy(to_whole ? there : here, to_whole ? here : there);
        }
    }
}

void copy_padded(const tensor::Kernels& kernels, const Tensor& array, const Tensor& padded, int tensor_dim,
                 bool to_padded) {
    const Cut small = Cut::of(array.shape(), tensor_dim, 1);
    const Cut large = Cut::of(padded.shape(), tensor_dim, 1);
    const int64_t run = small.run_of(0);
    for (int64_t o = 0; run > 0 && o < small.outer; ++o) {
        const Tensor here = array.slice(o * run, run);
        const Tensor there = padded.slice(o * large.run_of(0), run);
        kernels.copy(to_padded ? there : here, to_padded ? here : there);
    }
}

}  // namespace meshscope::parallel
