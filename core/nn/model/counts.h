#pragma once

#include <cstdint>

#include "core/nn/model/spec.h"

namespace meshscope::nn {

/// How many parameters a model has, by part. Everything but `layers`, which is all layers together, is there
/// once.
struct ParameterCounts {
    int64_t embedding = 0;   ///< gpt's positions included
    int64_t each_layer = 0;  ///< toy's differ: its first
    int64_t layers = 0;
    int64_t final_norm = 0;
    int64_t head = 0;  ///< 0 where it is tied
    int64_t total() const { return embedding + layers + final_norm + head; }
};

/// Counted on a model of one layer, so that it costs the same for any number of layers. Throws as
/// make_model().
ParameterCounts count_parameters(const ModelSpec& spec);

/// What one token costs, in floating-point operations; a multiplication and an addition are two. Of gpt and
/// llama.
struct TokenCost {
    double products =
        0;  ///< forward, in the products with parameters: 2 a parameter of the layers' and the head's
    double attention =
        0;  ///< forward, in q·kᵀ and p·v with a causal mask: 4 · query width · pairs a token, each layer
    double forward() const { return products + attention; }
    /// Backward takes each product twice, and each of attention's two and a half times: it computes q·kᵀ
    /// anew.
    double training() const { return 3 * products + 3.5 * attention; }
};

/// For sequences of `tokens`.
TokenCost cost_of_token(const ModelSpec& spec, int64_t tokens);

}  // namespace meshscope::nn
