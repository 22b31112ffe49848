// The layers of gpt and llama and their losses.
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_kernels.h"
#include "backends/cuda/cuda_operands.h"
#include "core/base/error.h"

namespace meshscope::backends::cuda {

using tensor::AttentionShape;
using tensor::Tensor;

namespace {

MeshscopeNorm norm_of(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                      const Tensor& weight) {
    MeshscopeNorm p{};
    p.out = out.raw();
    p.x = x.raw();
    p.weight = weight.raw();
    p.mean = floats(mean);
    p.rstd = floats(rstd);
    p.rows = rstd.n_elements();
    p.width = weight.n_elements();
    return p;
}

MeshscopeColumns norm_weight_of(const Tensor& dw, const Tensor& db, const Tensor& dy, const Tensor& x,
                                const Tensor& mean, const Tensor& rstd, bool accumulate) {
    MeshscopeColumns p{};
    p.out = dw.raw();
    p.out2 = db.raw();
    p.dy = dy.raw();
    p.x = x.raw();
    p.mean = floats(mean);
    p.rstd = floats(rstd);
    p.rows = rstd.n_elements();
    p.width = dw.n_elements();
    p.accumulate = accumulate ? 1 : 0;
    return p;
}

MeshscopeAttention attention_of(const AttentionShape& shape) {
    MeshscopeAttention p{};
    p.batch = shape.batch;
    p.q_tokens = shape.q_tokens;
    p.k_tokens = shape.k_tokens;
    p.heads = shape.heads;
    p.kv_heads = shape.kv_heads;
    p.head_dim = shape.head_dim;
    p.window = shape.window;
    p.scale = static_cast<float>(shape.scale);
    p.causal = shape.causal ? 1 : 0;
    p.q_positions = integers(shape.q_positions);
    p.k_positions = integers(shape.k_positions);
    p.tile = attention_tile(shape.head_dim);
    return p;
}

/// The widest head that the kernels take: InvalidArgument "gpu.head_dim" {head_dim, most}.
void expect_head_fits(const AttentionShape& shape) {
    if (shape.head_dim > MESHSCOPE_ATTENTION_MOST_HEAD_DIM)
        throw InvalidArgument(
            {"gpu.head_dim",
             {{"head_dim", shape.head_dim}, {"most", int64_t{MESHSCOPE_ATTENTION_MOST_HEAD_DIM}}}});
}

}  // namespace

// norms and positions ---------------------------------------------------------------------------------------

void CudaKernels::layer_norm_forward(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                                     const Tensor& weight, const Tensor& bias, double eps) const {
    const DType dtype = y.dtype();
    MeshscopeNorm p = norm_of(y, x, mean, rstd, weight);
    p.bias = bias.raw();
    p.eps = eps;
    if (p.rows > 0) run(MESHSCOPE_KERNEL_LAYER_NORM, dtype, p, shape_of_rows(p.rows, p.width));
}

void CudaKernels::layer_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x,
                                        const Tensor& mean, const Tensor& rstd, const Tensor& weight) const {
    const DType dtype = dx.dtype();
    MeshscopeNorm p = norm_of(dx, x, mean, rstd, weight);
    p.dy = dy.raw();
    if (p.rows > 0) run(MESHSCOPE_KERNEL_LAYER_NORM_BACKWARD, dtype, p, shape_of_rows(p.rows, p.width));
}

void CudaKernels::layer_norm_weight_grad(const Tensor& dw, const Tensor& db, const Tensor& dy,
                                         const Tensor& x, const Tensor& mean, const Tensor& rstd,
                                         bool accumulate) const {
    const DType dtype = dw.dtype();
    const MeshscopeColumns p = norm_weight_of(dw, db, dy, x, mean, rstd, accumulate);
    columns(MESHSCOPE_KERNEL_NORM_WEIGHT, dtype, p);
}

void CudaKernels::rms_norm_forward(const Tensor& y, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                                   double eps) const {
    const DType dtype = y.dtype();
    MeshscopeNorm p = norm_of(y, x, {}, rstd, weight);
    p.eps = eps;
    if (p.rows > 0) run(MESHSCOPE_KERNEL_RMS_NORM, dtype, p, shape_of_rows(p.rows, p.width));
}

void CudaKernels::rms_norm_input_grad(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& rstd,
                                      const Tensor& weight) const {
    const DType dtype = dx.dtype();
    MeshscopeNorm p = norm_of(dx, x, {}, rstd, weight);
    p.dy = dy.raw();
    if (p.rows > 0) run(MESHSCOPE_KERNEL_RMS_NORM_BACKWARD, dtype, p, shape_of_rows(p.rows, p.width));
}

void CudaKernels::rms_norm_weight_grad(const Tensor& dw, const Tensor& dy, const Tensor& x,
                                       const Tensor& rstd, bool accumulate) const {
    const DType dtype = dw.dtype();
    const MeshscopeColumns p = norm_weight_of(dw, {}, dy, x, {}, rstd, accumulate);
    columns(MESHSCOPE_KERNEL_NORM_WEIGHT, dtype, p);
}

void CudaKernels::rotary(const Tensor& out, const Tensor& in, const tensor::RotaryShape& shape,
                         bool inverse) const {
    const DType dtype = out.dtype();
    MeshscopeRotary p{};
    p.out = out.raw();
    p.in = in.raw();
    p.positions = integers(shape.positions);
    p.batch = shape.batch;
    p.tokens = shape.tokens;
    p.heads = shape.heads;
    p.head_dim = shape.head_dim;
    p.first_position = shape.first_position;
    p.theta = shape.theta;
    p.factor = shape.scaling.factor;
    p.low_freq_factor = shape.scaling.low_freq_factor;
    p.high_freq_factor = shape.scaling.high_freq_factor;
    p.original_tokens = static_cast<double>(shape.scaling.original_tokens);
    p.scaling = static_cast<int32_t>(shape.scaling.kind);
    p.halves = shape.halves ? 1 : 0;
    p.inverse = inverse ? 1 : 0;
    const int64_t n = shape.batch * shape.tokens * (shape.head_dim / 2);
    if (n > 0 && shape.heads > 0) run(MESHSCOPE_KERNEL_ROTARY, dtype, p, shape_of_elements(n));
}

// attention -------------------------------------------------------------------------------------------------

void CudaKernels::attention_forward(const Tensor& o, const Tensor& lse, const Tensor& q, const Tensor& k,
                                    const Tensor& v, const AttentionShape& shape) const {
    const DType dtype = o.dtype();
    expect_head_fits(shape);
    if (lse.n_elements() == 0) return;
    MeshscopeAttention p = attention_of(shape);
    p.o = o.raw();
    p.lse = floats(lse);
    p.q = q.raw();
    p.k = k.raw();
    p.v = v.raw();
    run(MESHSCOPE_KERNEL_ATTENTION, dtype, p,
        shape_of_attention(shape.q_tokens, shape.heads, shape.batch, shape.head_dim));
}

void CudaKernels::attention_merge(const Tensor& o, const Tensor& lse, const Tensor& block_o,
                                  const Tensor& block_lse, const AttentionShape& shape) const {
    if (lse.n_elements() == 0) return;
    MeshscopeAttention p = attention_of(shape);
    p.o = o.raw();
    p.lse = floats(lse);
    p.q = block_o.raw();
    p.lse2 = floats(block_lse);
    LaunchShape launch_shape = shape_of_rows(shape.q_tokens, shape.head_dim);
    launch_shape.grid[1] = static_cast<uint32_t>(shape.heads);
    launch_shape.grid[2] = static_cast<uint32_t>(shape.batch);
    run(MESHSCOPE_KERNEL_ATTENTION_MERGE, DType::float32, p, launch_shape);
}

void CudaKernels::attention_backward(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& dout,
                                     const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                                     const Tensor& lse, const AttentionShape& shape) const {
    const DType dtype = dq.dtype();
    expect_head_fits(shape);
    const int64_t rows = lse.n_elements();
    const GpuMemory delta(stream(), rows * static_cast<int64_t>(sizeof(float)));
    MeshscopeAttention p = attention_of(shape);
    p.dq = dq.raw();
    p.dk = dk.raw();
    p.dv = dv.raw();
    p.dout = dout.raw();
    p.q = q.raw();
    p.k = k.raw();
    p.v = v.raw();
    p.o_in = o.raw();
    p.lse = floats(lse);
    p.delta = delta.as<float>();
    if (rows > 0) {
        run(MESHSCOPE_KERNEL_ATTENTION_DELTA, dtype, p, shape_of_elements(rows));
        run(MESHSCOPE_KERNEL_ATTENTION_DQ, dtype, p,
            shape_of_attention(shape.q_tokens, shape.heads, shape.batch, shape.head_dim));
    }
    if (k.n_elements() > 0)
        run(MESHSCOPE_KERNEL_ATTENTION_DKDV, dtype, p,
            shape_of_attention(shape.k_tokens, shape.kv_heads, shape.batch, shape.head_dim));
}

// tables ----------------------------------------------------------------------------------------------------

static_assert(MESHSCOPE_IGNORED_TARGET == tensor::kIgnoredTarget);

void CudaKernels::check_indices(std::string_view kernel, const Tensor& indices, int64_t rows,
                                bool may_be_ignored) const {
    MeshscopeIndices p{};
    p.may_be_ignored = may_be_ignored ? 1 : 0;
    p.indices = integers(indices);
    p.n = indices.n_elements();
    p.table_rows = rows;
    p.note = device_->index_note();
    if (p.n == 0) return;
    p.call = device_->announce_indices(kernel, rows);
    run(MESHSCOPE_KERNEL_CHECK_INDICES, DType::float32, p, shape_of_one_block());
}

void CudaKernels::embed(std::string_view kernel, const Tensor& y, const Tensor& table, const Tensor& indices,
                        int64_t first, bool checks) const {
    const DType dtype = y.dtype();
    if (checks) check_indices(kernel, indices, table.dim(0));
    MeshscopeIndices p{};
    p.indices = integers(indices);
    p.y = y.raw();
    p.table = table.raw();
    p.n = indices.n_elements();
    p.width = table.dim(1);
    p.table_rows = table.dim(0);
    p.first = first;
    if (y.n_elements() > 0) run(MESHSCOPE_KERNEL_EMBEDDING, dtype, p, shape_of_elements(y.n_elements()));
}

void CudaKernels::embed_backward(std::string_view kernel, const Tensor& dtable, const Tensor& dy,
                                 const Tensor& indices, int64_t first, bool accumulate, bool checks) const {
    const DType dtype = dtable.dtype();
    if (checks) check_indices(kernel, indices, dtable.dim(0));
    if (!accumulate) zero(dtable);
    MeshscopeIndices p{};
    p.indices = integers(indices);
    p.y = dtable.raw();
    p.table = dy.raw();
    p.n = indices.n_elements();
    p.width = dtable.dim(1);
    p.table_rows = dtable.dim(0);
    p.first = first;
    p.accumulate = accumulate ? 1 : 0;
    if (dy.n_elements() == 0) return;
    LaunchShape shape = shape_of_rows(p.n, p.width);
    shape.grid[1] = static_cast<uint32_t>((p.width + shape.block[0] - 1) / shape.block[0]);
    run(MESHSCOPE_KERNEL_EMBEDDING_BACKWARD, dtype, p, shape);
}

void CudaKernels::embedding_forward(const Tensor& y, const Tensor& table, const Tensor& indices) const {
    embed("embedding", y, table, indices, 0, true);
}

void CudaKernels::embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                     bool accumulate) const {
    embed_backward("embedding.backward", dtable, dy, indices, 0, accumulate, true);
}

void CudaKernels::embedding_part_forward(const Tensor& y, const Tensor& table, const Tensor& indices,
                                         int64_t first) const {
    embed("embedding.part", y, table, indices, first, false);
}

void CudaKernels::embedding_part_backward(const Tensor& dtable, const Tensor& dy, const Tensor& indices,
                                          int64_t first, bool accumulate) const {
    embed_backward("embedding.part.backward", dtable, dy, indices, first, accumulate, false);
}

}  // namespace meshscope::backends::cuda
