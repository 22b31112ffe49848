#include "core/tensor/kernels_dry.h"

#include <algorithm>
#include <initializer_list>

#include "core/base/error.h"

namespace meshscope::tensor {
namespace {

[[noreturn]] void refuse(const char* kernel, const Tensor& tensor, const Shape& wanted) {
    throw InvalidArgument(
        {"kernel.shape", {{"kernel", std::string(kernel)}, {"shape", tensor.shape()}, {"wanted", wanted}}});
}

void defined(const char* kernel, const Tensor& tensor) {
    if (!tensor.defined()) refuse(kernel, tensor, {});
}

void counted(const char* kernel, const Tensor& tensor, int64_t n) {
    if (!tensor.defined() || tensor.n_elements() != n) refuse(kernel, tensor, {n});
}

/// All of the first one's count.
void same(const char* kernel, std::initializer_list<Tensor> tensors) {
    for (const Tensor& tensor : tensors) counted(kernel, tensor, tensors.begin()->n_elements());
}

/// `matrix` has whole rows of `row`'s count.
void rows(const char* kernel, const Tensor& matrix, const Tensor& row) {
    defined(kernel, matrix);
    defined(kernel, row);
    const int64_t width = row.n_elements();
    if (width == 0 ? matrix.n_elements() != 0 : matrix.n_elements() % width != 0)
        refuse(kernel, matrix, {-1, width});
}

/// `matrix` has `n` rows.
void rows_of(const char* kernel, const Tensor& matrix, int64_t n) {
    defined(kernel, matrix);
    if (n == 0 ? matrix.n_elements() != 0 : matrix.n_elements() % n != 0) refuse(kernel, matrix, {n, -1});
}

/// x (…, I), y (…, O), weight (O, I).
void linear(const char* kernel, const Tensor& x, const Tensor& y, const Tensor& weight) {
    if (!weight.defined() || weight.shape().size() != 2) refuse(kernel, weight, {-1, -1});
    if (!x.defined() || x.shape().size() < 2 || x.shape().back() != weight.dim(1))
        refuse(kernel, x, {-1, weight.dim(1)});
    Shape wanted = x.shape();
    wanted.back() = weight.dim(0);
    if (!y.defined() || y.shape() != wanted) refuse(kernel, y, wanted);
}

/// xs (N, D), features (D).
void batch_norm(const char* kernel, std::initializer_list<Tensor> xs,
                std::initializer_list<Tensor> features) {
    same(kernel, features);
    rows(kernel, *xs.begin(), *features.begin());
    same(kernel, xs);
}

/// xs (N, D), rstd (N), weight (D).
void norm(const char* kernel, std::initializer_list<Tensor> xs, const Tensor& rstd, const Tensor& weight) {
    defined(kernel, rstd);
    defined(kernel, weight);
    for (const Tensor& x : xs) counted(kernel, x, rstd.n_elements() * weight.n_elements());
}

void embedding(const char* kernel, const Tensor& y, const Tensor& table, const Tensor& indices) {
    if (!table.defined() || table.shape().size() != 2) refuse(kernel, table, {-1, -1});
    defined(kernel, indices);
    counted(kernel, y, indices.n_elements() * table.dim(1));
}

void attention(const char* kernel, const AttentionShape& shape, std::initializer_list<Tensor> queries,
               std::initializer_list<Tensor> keys, const Tensor& lse) {
    if (shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0)
        refuse(kernel, *queries.begin(), {shape.batch, shape.q_tokens, shape.kv_heads, shape.head_dim});
    for (const Tensor& q : queries)
        counted(kernel, q, shape.batch * shape.q_tokens * shape.heads * shape.head_dim);
    for (const Tensor& k : keys)
        counted(kernel, k, shape.batch * shape.k_tokens * shape.kv_heads * shape.head_dim);
    counted(kernel, lse, shape.batch * shape.heads * shape.q_tokens);
}

}  // namespace

void DryKernels::zero(const Tensor& out) const {
    defined("zero", out);
}
void DryKernels::fill(const Tensor& out, float) const {
    defined("fill", out);
}
void DryKernels::copy(const Tensor& out, const Tensor& in) const {
    same("copy", {out, in});
}
void DryKernels::cast(const Tensor& out, const Tensor& in) const {
    same("cast", {out, in});
}
void DryKernels::upload(const Tensor& out, std::span<const float> numbers) const {
    counted("upload", out, static_cast<int64_t>(numbers.size()));
}
void DryKernels::download(std::span<float> numbers, const Tensor& in) const {
    counted("download", in, static_cast<int64_t>(numbers.size()));
    std::fill(numbers.begin(), numbers.end(), 0.0F);
}
void DryKernels::scale(const Tensor& in_out, float) const {
    defined("scale", in_out);
}
void DryKernels::axpy(const Tensor& y, float, const Tensor& x) const {
    same("axpy", {y, x});
}
void DryKernels::add(const Tensor& out, const Tensor& a, const Tensor& b) const {
    same("add", {out, a, b});
}
void DryKernels::add_rows(const Tensor& out, const Tensor& a, const Tensor& row) const {
    same("add_rows", {out, a});
    rows("add_rows", a, row);
}
void DryKernels::multiply(const Tensor& out, const Tensor& a, const Tensor& b) const {
    same("multiply", {out, a, b});
}
void DryKernels::linear_forward(const Tensor& y, const Tensor& x, const Tensor& weight,
                                const Tensor& bias) const {
    linear("linear", x, y, weight);
    if (bias.defined()) counted("linear", bias, weight.dim(0));
}
void DryKernels::linear_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& weight) const {
    linear("linear.input_grad", dx, dy, weight);
}
void DryKernels::linear_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x, bool) const {
    linear("linear.weight_grad", x, dy, dw);
}
void DryKernels::linear_bias_grad(const Tensor& db, const Tensor& dy, bool) const {
    rows("linear.bias_grad", dy, db);
}
void DryKernels::relu_forward(const Tensor& y, const Tensor& x) const {
    same("relu", {y, x});
}
void DryKernels::relu_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) const {
    same("relu.backward", {dx, dy, y});
}
void DryKernels::gelu_tanh_forward(const Tensor& y, const Tensor& x) const {
    same("gelu_tanh", {y, x});
}
void DryKernels::gelu_tanh_backward(const Tensor& dx, const Tensor& dy, const Tensor& x) const {
    same("gelu_tanh.backward", {dx, dy, x});
}
void DryKernels::silu_mul_forward(const Tensor& y, const Tensor& gate, const Tensor& up) const {
    same("silu_mul", {y, gate, up});
}
void DryKernels::silu_mul_backward(const Tensor& dgate, const Tensor& dup, const Tensor& dy,
                                   const Tensor& gate, const Tensor& up) const {
    same("silu_mul.backward", {dgate, dup, dy, gate, up});
}
void DryKernels::embedding_forward(const Tensor& y, const Tensor& table, const Tensor& indices) const {
    embedding("embedding", y, table, indices);
}
void DryKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                    bool) const {
    embedding("embedding.backward", dy, dtable, indices);
}
void DryKernels::layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                                    const Tensor& weight, const Tensor& bias, double) const {
    norm("layer_norm", {y, x}, rstd, weight);
    same("layer_norm", {mean, rstd});
    if (bias.defined()) same("layer_norm", {bias, weight});
}
void DryKernels::layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                       const Tensor& mean, const Tensor& rstd, const Tensor& weight) const {
    norm("layer_norm.input_grad", {dx, dy, x}, rstd, weight);
    same("layer_norm.input_grad", {mean, rstd});
}
void DryKernels::layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy, const Tensor& x,
                                        const Tensor& mean, const Tensor& rstd, bool) const {
    norm("layer_norm.weight_grad", {dy, x}, rstd, dw);
    same("layer_norm.weight_grad", {mean, rstd});
    if (db.defined()) same("layer_norm.weight_grad", {db, dw});
}
void DryKernels::rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                                  double) const {
    norm("rms_norm", {y, x}, rstd, weight);
}
void DryKernels::rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                     const Tensor& weight) const {
    norm("rms_norm.input_grad", {dx, dy, x}, rstd, weight);
}
void DryKernels::rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                      bool) const {
    norm("rms_norm.weight_grad", {dy, x}, rstd, dw);
}
void DryKernels::batch_norm_stats(const Tensor& statistics, const Tensor& x, double) const {
    defined("batch_norm.statistics", statistics);
    defined("batch_norm.statistics", x);
    const int64_t width = (statistics.n_elements() - 1) / 2;
    counted("batch_norm.statistics", statistics, 2 * width + 1);
    if (width == 0 ? x.n_elements() != 0 : x.n_elements() % width != 0)
        refuse("batch_norm.statistics", x, {-1, width});
}
int64_t DryKernels::batch_norm_gather_stats(const Tensor& mean, const Tensor& invstd,
                                            const Tensor& running_mean, const Tensor& running_var,
                                            const Tensor& statistics, double, double) const {
    same("batch_norm.combine", {mean, invstd, running_mean, running_var});
    defined("batch_norm.combine", statistics);
    const int64_t each = 2 * mean.n_elements() + 1;
    if (statistics.n_elements() % each != 0) refuse("batch_norm.combine", statistics, {-1, each});
    return 0;
}
void DryKernels::batch_norm_elemt(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& invstd,
                                  const Tensor& weight, const Tensor& bias) const {
    batch_norm("batch_norm", {y, x}, {mean, invstd, weight, bias});
}
void DryKernels::batch_norm_backward_reduce(const Tensor& sums, const Tensor& dw, const Tensor& db,
                                            const Tensor& dy, const Tensor& x, const Tensor& mean,
                                            const Tensor& invstd) const {
    batch_norm("batch_norm.weight_grad", {dy, x}, {mean, invstd, dw, db});
    counted("batch_norm.weight_grad", sums, 2 * mean.n_elements());
}
void DryKernels::batch_norm_backward_elemt(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                           const Tensor& mean, const Tensor& invstd, const Tensor& weight,
                                           const Tensor& sums, int64_t) const {
    batch_norm("batch_norm.input_grad", {dx, dy, x}, {mean, invstd, weight});
    counted("batch_norm.input_grad", sums, 2 * mean.n_elements());
}
void DryKernels::rotary(const Tensor& out, const Tensor& in, const RotaryShape& shape, bool) const {
    counted("rotary", out, shape.batch * shape.tokens * shape.heads * shape.head_dim);
    same("rotary", {out, in});
}
void DryKernels::attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                                   const Tensor& v, const AttentionShape& shape) const {
    attention("attention", shape, {o, q}, {k, v}, lse);
}
void DryKernels::attention_merge(const Tensor& o, const Tensor& lse, const Tensor& block_o,
                                 const Tensor& block_lse, const AttentionShape& shape) const {
    attention("attention.merge", shape, {o, block_o}, {}, lse);
    same("attention.merge", {lse, block_lse});
}
void DryKernels::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                                    const Tensor& lse, const AttentionShape& shape) const {
    attention("attention.backward", shape, {dq, dout, q, o}, {dk, dv, k, v}, lse);
}
void DryKernels::cross_entropy_forward(const Tensor& loss, const Tensor& lse, const Tensor& logits,
                                       const Tensor& targets) const {
    counted("cross_entropy", loss, 1);
    same("cross_entropy", {lse, targets});
    rows_of("cross_entropy", logits, targets.n_elements());
}
void DryKernels::cross_entropy_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                        const Tensor& lse, const Tensor& targets) const {
    counted("cross_entropy.backward", dloss, 1);
    same("cross_entropy.backward", {lse, targets});
    same("cross_entropy.backward", {dlogits, logits});
    rows_of("cross_entropy.backward", logits, targets.n_elements());
}
void DryKernels::embedding_part_forward(const Tensor& y, const Tensor& table, const Tensor& indices,
                                        int64_t) const {
    embedding("embedding_part", y, table, indices);
}
void DryKernels::embedding_part_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                         int64_t, bool) const {
    embedding("embedding_part.backward", dy, dtable, indices);
}
void DryKernels::row_max(const Tensor& largest, const Tensor& logits) const {
    rows_of("row_max", logits, largest.n_elements());
    defined("row_max", largest);
}
void DryKernels::row_sum_exp(const Tensor& sums, const Tensor& logits, const Tensor& largest) const {
    same("row_sum_exp", {sums, largest});
    rows_of("row_sum_exp", logits, sums.n_elements());
}
void DryKernels::pick_targets(const Tensor& picked, const Tensor& logits, const Tensor& targets,
                              int64_t) const {
    same("pick_targets", {picked, targets});
    rows_of("pick_targets", logits, targets.n_elements());
}
void DryKernels::cross_entropy_of_parts(const Tensor& loss, const Tensor& lse, const Tensor& largest,
                                        const Tensor& sums, const Tensor& picked) const {
    counted("cross_entropy_of_parts", loss, 1);
    same("cross_entropy_of_parts", {lse, largest, sums, picked});
}
void DryKernels::cross_entropy_part_backward(const Tensor& dlogits, const Tensor& dloss, const Tensor& logits,
                                             const Tensor& lse, const Tensor& targets, int64_t) const {
    counted("cross_entropy_part.backward", dloss, 1);
    same("cross_entropy_part.backward", {lse, targets});
    same("cross_entropy_part.backward", {dlogits, logits});
    rows_of("cross_entropy_part.backward", logits, targets.n_elements());
}
void DryKernels::mse_forward(const Tensor& loss, const Tensor& prediction, const Tensor& target) const {
    counted("mse", loss, 1);
    same("mse", {prediction, target});
}
void DryKernels::mse_backward(const Tensor& dprediction, const Tensor& dloss, const Tensor& prediction,
                              const Tensor& target) const {
    counted("mse.backward", dloss, 1);
    same("mse.backward", {dprediction, prediction, target});
}
double DryKernels::sum_of_squares(const Tensor& in) const {
    defined("sum_of_squares", in);
    return 0;
}
void DryKernels::sgd_step(const Tensor& value, const Tensor& grad, const Tensor& buffer,
                          const SgdStep& step) const {
    same("sgd", {value, grad});
    if (step.momentum != 0.0) same("sgd", {value, buffer});
}
void DryKernels::adam_step(const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v,
                           const AdamStep&) const {
    same("adam", {value, grad, m, v});
}

}  // namespace meshscope::tensor
