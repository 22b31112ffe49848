#pragma once

namespace meshscope::parallel {

struct TensorParallelOptions {
    /// false: one all_reduce for the gradient of what goes into attention, one for the mlp's ("block"). true:
    /// one for each column-wise linear, PyTorch's plan without PrepareModuleInput ("linear").
    bool linear_plan = false;
    bool sequence_parallel = false;  ///< gpt, llama: activations between blocks are cut by sequence
    bool loss_parallel = false;      ///< gpt, llama: the loss is computed on logits cut by vocabulary
    /// With loss_parallel: of eager PyTorch's kernels, which hold memory and compute nothing (nn::use_ops()).
    bool eager_loss = false;
    /// With sequence_parallel: the norms' gradients are summed where backward makes them, a collective each
    /// ("sp.norm_gradient.sum"), and not all at once at the end. For strategies that lay parameters into one
    /// array, or hand them out by size: where cuts are uneven, a norm lies elsewhere on each tp rank.
    bool sum_each_norm = false;
};

}  // namespace meshscope::parallel
