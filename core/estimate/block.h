#pragma once

#include <string_view>
#include <vector>

#include "core/estimate/job.h"
#include "core/estimate/machine.h"

namespace meshscope::estimate {

/// Bytes of an element that is computed with: bfloat16 or float16.
inline constexpr double kComputeBytes = 2;

/// One operation of a layer, on one rank and of one micro-batch: what it computes, moves and keeps.
struct Operation {
    /// (m, k) · (k, n), `batch` times.
    struct Product {
        double m = 0, n = 0, k = 0, batch = 1;
    };

    std::string_view name;
    Product product;         ///< m = 0: none
    bool weights = true;     ///< the product's second factor are weights
    double flash_flops = 0;  ///< of a flash kernel, forward; 2.5 times as many backward
    double bytes = 0;        ///< read and written around products, forward
    double backward_bytes = 0;
    double kept_bytes = 0;  ///< from forward until backward
    bool scores = false;    ///< of attention's matrix of scores: computed again by Recompute::attention
};

/// What a rank does for a part of the model, of one micro-batch. Seconds and bytes.
struct Cost {
    double forward_s = 0;
    double input_grad_s = 0, weight_grad_s = 0;
    double again_s = 0;  ///< recomputed in backward
    /// Collectives of tensor and context parallelism that the rank waits for, and what of them runs beside
    /// products.
    double tensor_forward_s = 0, tensor_backward_s = 0;
    double hidden_forward_s = 0, hidden_backward_s = 0;

    double backward_s() const { return input_grad_s + weight_grad_s + again_s; }
    double compute_s() const { return forward_s + backward_s(); }
    double exposed_s() const { return tensor_forward_s + tensor_backward_s; }
    double hidden_s() const { return hidden_forward_s + hidden_backward_s; }
    double all_s() const { return compute_s() + exposed_s(); }
};

/// The operations of a block, in forward's order.
std::vector<Operation> block_operations(const Job& job);

/// What a block keeps of a micro-batch from forward until backward, after recomputation's choice.
double block_kept_bytes(const Job& job);

/// A block: its operations, what is recomputed, its collectives. Where the host launches kernels slower than
/// the GPU finishes them, the host's time counts.
Cost block_cost(const Job& job, const Machine& machine);

/// The last norm, the head and the loss.
Cost head_cost(const Job& job, const Machine& machine);

/// Of the vocabulary as the stack pads it.
int64_t padded_vocab(const Job& job);

}  // namespace meshscope::estimate
