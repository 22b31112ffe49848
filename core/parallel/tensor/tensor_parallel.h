#pragma once

#include <set>
#include <span>

#include "core/nn/layers/embedding.h"
#include "core/nn/layers/linear.h"
#include "core/nn/model.h"
#include "core/parallel/strategy.h"
#include "core/parallel/tensor/options.h"

namespace meshscope::nn {
class Attention;
}  // namespace meshscope::nn

namespace meshscope::parallel {

/// Tensor parallelism on one rank, applied from outside before a data strategy: PyTorch's parallelize_module
/// with Megatron's plan (arXiv 1909.08053), and sequence parallelism beside it (arXiv 2205.05198). Afterwards
/// the model's cut parameters are this rank's parts and a data strategy works on them as on any others. A
/// pipeline's stages are models of their own, each of them cut when all but its pieces is out of it.
///
/// - column-wise (cut by outputs, bias too): wq, wk, wv, up, gate, net1; row-wise (cut by inputs, the bias
///   whole and added once, after the sum): wo, down, net2.
/// - everything else is whole on every rank. With sequence_parallel the embeddings are cut by rows, the head
///   by columns, and activations between the blocks hold this rank's tokens only; with loss_parallel the head
///   is cut by columns and its logits are never gathered.
///
/// Uneven sizes, the sequence's and the vocabulary's too, are cut by torch.chunk's rule; heads and kv_heads
/// must divide by the ranks, which the scenario reader checks. Where there are more ranks than kv_heads, as
/// many neighbours as kv_copies() hold the same rows of wk and wv: what their gradients saw is summed over
/// them (context.tp_parts, "tp.kv_copies.sum"), each time one is made. Norms of queries and keys are whole on
/// every rank and see its own heads only: their gradients are summed as those of the norms with
/// sequence_parallel.
class TensorParallel {
  public:
    /// context.along(mesh::Role::tp) is the group.
    TensorParallel(const RankContext& context, TensorParallelOptions options);

    /// Cuts and connects a model, or the pieces of one that a pipeline's stage keeps, whose parameters have
    /// no values yet. The model outlives it.
    void apply(nn::Model& model);

    /// After the step's last backward: sums over the tp group the gradients of the parameters that are whole
    /// on every rank but saw only its part of the sequence (the norms) or of the heads (theirs). One
    /// all_reduce for all of them ("sp.norm_gradients.sum"); none where there are no such, or with
    /// sum_each_norm. `gradients[i]` belongs to `parameters[i]`.
    void sum_partial_gradients(std::span<const Tensor> gradients, std::span<const LocalParameter> parameters);

  private:
    void visit(nn::Module& module, bool input_is_whole);
    void share_heads(const nn::Attention& attention);
    void connect_column_wise(nn::Linear& linear, bool input_is_whole);
    /// Cuts wk or wv so that `copies` neighbours share each head.
    void cut_copies(nn::Linear& linear, int64_t copies);
    void sum_over_copies(nn::Parameter& parameter, int64_t copies);
    /// LoRA's matrices beside a layer that is cut along `tensor_dim` of W ("tp.lora.sum").
    void cut_adapters(nn::Linear& linear, int32_t tensor_dim, int64_t copies);
    void connect_row_wise(nn::Linear& linear);
    void connect_tokens(nn::Model& model);
    void connect_head(nn::Model& model, nn::Linear& head);
    void connect_embedding(nn::Model& model, nn::Embedding& tok);
    /// What makes the input of column-wise layers whole, and sums its gradient.
    nn::VariableMap whole_input() const;
    void cut(nn::Parameter& parameter, int32_t tensor_dim);
    /// Its gradient is a share of the sum over the tp group.
    void sum_gradient_of(nn::Parameter& parameter);

    RankContext context_;
    TensorParallelOptions options_;
    const nn::Model* model_ = nullptr;
    /// Those whose gradient is a share of the sum over the tp group. Looked up, never walked through: in the
    /// order of addresses no two runs would be alike.
    std::set<const nn::Parameter*> partial_;
};

}  // namespace meshscope::parallel
