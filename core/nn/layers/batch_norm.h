#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/nn/layers/layer.h"

namespace meshscope::nn {

/// How a batch norm's statistics become those of several ranks. Layers know no rank: parallelism from outside
/// gives them one of these. Every rank calls it, in the same order. `layer` is the module's name.
class SharedStatistics {
  public:
    virtual ~SharedStatistics() = default;
    /// This rank's statistics (2·C + 1; see Kernels::batch_norm_stats) → those of all (ranks, 2·C + 1).
    virtual Tensor gather(Tape& tape, const std::string& layer, const Tensor& mine) = 0;
    /// Σ dy and Σ dy · (x - mean) (2·C), in place: summed over the ranks.
    virtual void sum(Tape& tape, const std::string& layer, const Tensor& sums) = 0;
};

/// y = (x - mean) / √(variance + eps) · weight + bias, mean and variance of each feature over the rows:
/// torch.nn.BatchNorm1d in training; with `shared` set torch.nn.SyncBatchNorm, over the rows of all ranks.
/// weight, bias (C). Training only: the running statistics are kept and never used.
///
/// - Forward moves the running statistics by `momentum` (the variance over rows - 1) and counts the batch. A
///   forward that is done twice (recompute) would do so twice: as in PyTorch.
/// - Keeps x, mean and invstd (2·C). Weight and bias get the gradients of this rank's own rows.
/// - Events "batch_norm.statistics", "batch_norm.combine", "batch_norm", "batch_norm.weight_grad",
///   "batch_norm.input_grad". Ready order: weight, bias, both after the exchange of sums, as autograd has it:
///   the layer's backward is one function.
///
/// Source: torch/nn/modules/_functions.py: SyncBatchNorm; torch/nn/modules/batchnorm.py.
class BatchNorm final : public Layer {
  public:
    struct Running {
        Buffer* mean;      ///< (C)
        Buffer* variance;  ///< (C)
        Buffer* batches;   ///< (1), int64
    };
    BatchNorm(std::string name, Parameter* weight, Parameter* bias, Running running, double eps = 1e-5,
              double momentum = 0.1);

    /// Null: the layer's own rows are all there are.
    std::shared_ptr<SharedStatistics> shared;

  protected:
    Variable compute(Tape& tape, Variable x) override;

  private:
    void backward(Tape& tape, Variable x, const Tensor& input, const Tensor& mean, const Tensor& invstd,
                  int64_t rows, const Tensor& grad_output);

    Parameter* weight_;
    Parameter* bias_;
    Running running_;
    double eps_;
    double momentum_;
};

}  // namespace meshscope::nn
