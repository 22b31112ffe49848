#include "core/tensor/strided_parts.h"

#include "core/tensor/dry_device.h"

namespace meshscope::tensor {

void gather_parts(const Kernels& kernels, const Tensor& y, const Tensor& x, const StridedParts& parts) {
    if (does_nothing(y.device())) return kernels.cast(y.flat(), x.slice(0, y.n_elements()));
    const int64_t each = y.n_elements() / parts.count;
    for (int64_t r = 0; r < parts.count; ++r)
        kernels.cast(y.slice(r * each, each), x.slice(parts.first + r * parts.stride, each));
}

void spread_parts(const Kernels& kernels, const Tensor& y, const StridedParts& parts, int64_t room,
                  const Tensor& x, const std::function<int64_t(int64_t)>& size_of) {
    if (does_nothing(y.device())) {
        const int64_t real = x.n_elements(), padding = room * parts.count - real;
        if (real > 0) kernels.cast(y.slice(0, real), x.flat());
        if (padding > 0) kernels.zero(y.slice(real, padding));
        return;
    }
    int64_t taken = 0;
    for (int64_t r = 0; r < parts.count; ++r) {
        const int64_t elements = size_of(r), first = parts.first + r * parts.stride;
        if (elements > 0) kernels.cast(y.slice(first, elements), x.slice(taken, elements));
        if (room > elements) kernels.zero(y.slice(first + elements, room - elements));
        taken += elements;
    }
}

}  // namespace meshscope::tensor
