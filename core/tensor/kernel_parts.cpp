#include "core/tensor/kernel_parts.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tensor/dtype.h"

namespace meshscope::tensor {

void expect_index(std::string_view kernel, int64_t index, int64_t rows) {
    if (index < 0 || index >= rows)
        throw InvalidArgument(
            {"kernel.index", {{"kernel", std::string(kernel)}, {"index", index}, {"rows", rows}}});
}

bool cast_float16(const Tensor& out, const Tensor& in) {
    const auto is = [](const Tensor& t, DType dtype) { return t.defined() && t.dtype() == dtype; };
    if (is(out, DType::float16)) {
        const auto halves = out.data<Float16>();
        if (is(in, DType::bfloat16))
            std::ranges::transform(in.data<uint16_t>(), halves.begin(),
                                   [](uint16_t x) { return to_float16(from_bfloat16(x)); });
        else
            std::ranges::transform(in.data<float>(), halves.begin(), to_float16);
        return true;
    }
    if (!is(in, DType::float16)) return false;
    if (is(out, DType::bfloat16))
        std::ranges::transform(in.data<Float16>(), out.data<uint16_t>().begin(),
                               [](Float16 x) { return to_bfloat16(from_float16(x)); });
    else
        std::ranges::transform(in.data<Float16>(), out.data<float>().begin(), from_float16);
    return true;
}

}  // namespace meshscope::tensor
