#pragma once

#include <cstdint>

#include "core/nn/model.h"

namespace meshscope::nn {

/// What of a layer's activations is computed again in backward instead of being kept:
/// torch.utils.checkpoint.
enum class Recompute : uint8_t {
    none,
    /// create_selective_checkpoint_contexts with the outputs of matrix products and of attention saved: a
    /// layer keeps its input, every linear layer's output, attention's output and its log-sum-exp; norms,
    /// activation functions, rotary positions, residual sums and collectives run again. What Korthikanti et
    /// al. (arXiv 2205.05198) call selective, to compute attention's scores again, our attention always does:
    /// it never keeps them.
    selective,
    /// A layer keeps its input alone, and all of it runs again.
    full,
};

/// layer.work() as torch.utils.checkpoint(layer, x, use_reentrant=False, early_stop=False) does it, with
/// selective or full.
///
/// Forward keeps what `recompute` says. In backward, when the layer's turn has come and after its
/// pre_backward hooks, the work runs once more on a tape of its own (recorded as Recorder::set_recompute
/// says), then that tape runs backward: weight gradients, hooks and their order are those of a layer that
/// kept everything, and so are the bits. Both parts of the gradient come at once, in backward() as in
/// backward_input().
///
/// With early_stop, its default, PyTorch would leave out the end of the second forward, which backward does
/// not need (a layer's last product).
Variable checkpoint(Tape& tape, Variable x, Layer& layer, Recompute recompute);

/// Hangs checkpoint() around each of the model's layers (transformer blocks, mlp's layers). Once a model;
/// nothing with none.
void checkpoint_layers(Model& model, Recompute recompute);

}  // namespace meshscope::nn
