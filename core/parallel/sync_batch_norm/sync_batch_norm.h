#pragma once

#include "core/nn/model.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// torch.nn.SyncBatchNorm.convert_sync_batchnorm(model): every batch norm of `model` takes the mean and the
/// variance of the rows of all ranks of the data-parallel group, before DDP is put around the model. Nothing
/// changes in a group of one.
///
/// - Forward: one all_gather a layer of each rank's mean, 1/√(variance + eps) and rows, 2·C + 1 float32 a
/// rank.
///   Not an all_reduce of sums, so that large means cancel nowhere and ranks may have different rows.
/// - Backward: one all_reduce a layer of Σ dy and Σ dy · (x - mean), 2·C float32, before the gradient of the
///   layer's input. The gradients of weight and bias are DDP's.
/// - Both run on the collectives' streams and compute waits for them: backward's queues behind the buckets of
///   DDP that are under way, as two calls of one NCCL communicator do.
///
/// `context.allocator`, the group and the recorder outlive the model. Throws nothing of its own.
/// Source: torch/nn/modules/_functions.py: SyncBatchNorm.
void convert_sync_batch_norm(const RankContext& context, nn::Model& model);

}  // namespace meshscope::parallel
