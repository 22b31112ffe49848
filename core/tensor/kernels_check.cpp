#include "core/tensor/kernels_check.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tensor/dtype.h"

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

bool cast_float16(const Tensor& out, const Tensor& in) {
    const auto is = [](const Tensor& t, DType dtype) { return t.defined() && t.dtype() == dtype; };
    if (is(out, DType::float16)) {
        expect_count("cast", out, in.n_elements(), DType::float16);
        const auto halves = out.data<Float16>();
        if (is(in, DType::bfloat16))
            std::ranges::transform(in.data<uint16_t>(), halves.begin(),
                                   [](uint16_t x) { return to_float16(from_bfloat16(x)); });
        else
            std::ranges::transform(in.data<float>(), halves.begin(), to_float16);
        return true;
    }
    if (!is(in, DType::float16)) return false;
    expect_count("cast", out, in.n_elements(), out.dtype());
    if (is(out, DType::bfloat16))
        std::ranges::transform(in.data<Float16>(), out.data<uint16_t>().begin(),
                               [](Float16 x) { return to_bfloat16(from_float16(x)); });
    else
        std::ranges::transform(in.data<Float16>(), out.data<float>().begin(), from_float16);
    return true;
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

void expect_index(std::string_view kernel, int64_t index, int64_t rows) {
    if (index < 0 || index >= rows)
        throw InvalidArgument(
            {"kernel.index", {{"kernel", std::string(kernel)}, {"index", index}, {"rows", rows}}});
}

int64_t embedding_width(std::string_view kernel, const Tensor& y, const Tensor& table,
                        const Tensor& indices) {
    if (!table.defined() || table.shape().size() != 2) refuse(kernel, table.shape(), {-1, -1});
    expect_count(kernel, table, table.n_elements());
    expect_count(kernel, indices, indices.n_elements(), DType::int64);
    expect_count(kernel, y, indices.n_elements() * table.dim(1));
    return table.dim(1);
}

void expect_layer_norm(std::string_view kernel, std::initializer_list<Tensor> xs, const Tensor& mean,
                       const Tensor& rstd, const Tensor& weight) {
    expect_count(kernel, mean, rstd.n_elements());
    expect_rms_norm(kernel, xs, rstd, weight);
}

void expect_rms_norm(std::string_view kernel, std::initializer_list<Tensor> xs, const Tensor& rstd,
                     const Tensor& weight) {
    expect_count(kernel, weight, weight.n_elements());
    expect_count(kernel, rstd, rstd.n_elements());
    for (const Tensor& x : xs) expect_count(kernel, x, rstd.n_elements() * weight.n_elements());
}

int64_t expect_batch_norm(std::string_view kernel, std::initializer_list<Tensor> xs,
                          std::initializer_list<Tensor> features) {
    const int64_t n = features.begin()->n_elements();
    for (const Tensor& feature : features) expect_count(kernel, feature, n);
    const int64_t rows = n == 0 ? 0 : xs.begin()->n_elements() / n;
    for (const Tensor& x : xs) expect_count(kernel, x, rows * n);
    return rows;
}

int64_t expect_cross_entropy(std::string_view kernel, const Tensor& logits, const Tensor& lse,
                             const Tensor& targets, DType dtype) {
    const int64_t rows = targets.n_elements();
    const int64_t classes = rows == 0 ? 0 : logits.n_elements() / rows;
    expect_count(kernel, targets, rows, DType::int64);
    expect_count(kernel, lse, rows);
    expect_count(kernel, logits, rows * classes, dtype);
    return classes;
}

void expect_attention(std::string_view kernel, const AttentionShape& shape,
                      std::initializer_list<Tensor> queries, std::initializer_list<Tensor> keys,
                      const Tensor& lse) {
    const auto& [batch, q_tokens, k_tokens, heads, kv_heads, head_dim, causal, scale, q_at, k_at] = shape;
    for (const int64_t size : {batch, q_tokens, k_tokens, heads, head_dim})
        if (size < 0) refuse(kernel, {batch, q_tokens, heads * head_dim}, {-1, -1, -1});
    if (kv_heads < 1 || heads % kv_heads != 0)
        refuse(kernel, {batch, k_tokens, kv_heads, head_dim}, {batch, k_tokens, heads, head_dim});
    for (const Tensor& tensor : queries) expect_count(kernel, tensor, batch * q_tokens * heads * head_dim);
    for (const Tensor& tensor : keys) expect_count(kernel, tensor, batch * k_tokens * kv_heads * head_dim);
    expect_count(kernel, lse, batch * heads * q_tokens);
    if (q_at.defined()) expect_count(kernel, q_at, q_tokens, DType::int64);
    if (k_at.defined()) expect_count(kernel, k_at, k_tokens, DType::int64);
}

void expect_rotary(const RotaryShape& shape, const Tensor& out, const Tensor& in) {
    const int64_t head_dim = shape.head_dim;
    if (shape.batch < 0 || shape.tokens < 0 || shape.heads < 0 || head_dim < 0 || head_dim % 2 != 0)
        refuse("rotary", {shape.batch, shape.tokens, shape.heads, head_dim},
               {-1, -1, -1, (head_dim + 1) / 2 * 2});
    for (const Tensor& tensor : {out, in})
        expect_count("rotary", tensor, shape.batch * shape.tokens * shape.heads * head_dim);
    if (shape.positions.defined()) expect_count("rotary", shape.positions, shape.tokens, DType::int64);
}

}  // namespace meshscope::tensor
