#pragma once

#include <memory>
#include <string_view>

#include "core/nn/model.h"
#include "core/parallel/context/options.h"
#include "core/parallel/context/ring_attention.h"
#include "core/parallel/context/token_cut.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// Context parallelism of models of tokens on one rank, applied from outside: each rank of the cp group
/// holds only its own tokens of every sample, of inputs, activations and targets; attention alone looks at
/// the others', by ring attention or Ulysses. PyTorch's context_parallel(mesh["cp"], buffers = …) and
/// set_rotate_method(…) (torch/distributed/tensor/experimental).
///
/// Parameters are whole on every rank, and each rank's loss is the mean over its own tokens, of which all
/// have equally many: so gradients are averaged over cp as over data ranks, by a data strategy over the mesh
/// dim that data and cp dims are flattened to.
class ContextParallel {
  public:
    /// `tokens`: of a whole sequence; context.along(mesh::Role::cp) is the group. Throws InvalidArgument
    /// ("cp.uneven") where the sequence cannot be cut so.
    ContextParallel(const RankContext& context, int64_t tokens, ContextParallelOptions options);

    /// Connects a model, or a pipeline stage's part of one, whose positions and attention it changes; before
    /// or after tensor parallelism. The model must not be run when this is gone.
    void apply(nn::Model& model) const;

    /// Of whole rows (rows, tokens) this rank's tokens (rows, tokens / N), in new memory. Event "cp.cut".
    Tensor own_tokens(const Tensor& rows, std::string_view label) const;

  private:
    void connect(nn::Module& module) const;

    RankContext context_;
    TokenCut cut_;
    Tensor positions_;                     ///< of all ranks' tokens, rank by rank
    std::unique_ptr<RingAttention> ring_;  ///< null with Ulysses
};

}  // namespace meshscope::parallel
