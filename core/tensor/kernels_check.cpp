#include "core/tensor/kernels_check.h"

#include "core/base/error.h"

namespace meshscope::tensor {
namespace {

[[noreturn]] void refuse(std::string_view kernel, const Shape& shape, const Shape& wanted) {
    throw InvalidArgument(
        {"kernel.shape", {{"kernel", std::string(kernel)}, {"shape", shape}, {"wanted", wanted}}});
}

void expect_shape(std::string_view kernel, const Tensor& tensor, const Shape& wanted) {
    if (!tensor.defined() || tensor.dtype() != DType::float32 || tensor.shape() != wanted)
        refuse(kernel, tensor.shape(), wanted);
}

}  // namespace

void expect_count(std::string_view kernel, const Tensor& tensor, int64_t n, DType dtype) {
    if (!tensor.defined() || tensor.n_elements() != n) refuse(kernel, tensor.shape(), {n});
    if (tensor.dtype() != dtype)
        throw InvalidArgument(
            {"tensor.wrong_dtype",
             {{"dtype", std::string(name(tensor.dtype()))}, {"wanted", std::string(name(dtype))}}});
}

LinearSizes linear_sizes(std::string_view kernel, const Tensor& x, const Tensor& y, const Tensor& weight) {
    if (!weight.defined() || weight.shape().size() != 2) refuse(kernel, weight.shape(), {0, 0});
    LinearSizes sizes;
    sizes.outputs = weight.dim(0);
    sizes.inputs = weight.dim(1);
    if (!x.defined() || x.shape().size() < 2 || x.shape().back() != sizes.inputs)
        refuse(kernel, x.shape(), {-1, sizes.inputs});
    sizes.rows = 1;
    for (std::size_t i = 0; i + 1 < x.shape().size(); ++i) sizes.rows *= x.shape()[i];
    Shape y_shape = x.shape();
    y_shape.back() = sizes.outputs;
    expect_shape(kernel, y, y_shape);
    expect_shape(kernel, x, x.shape());
    expect_shape(kernel, weight, weight.shape());
    return sizes;
}

}  // namespace meshscope::tensor
