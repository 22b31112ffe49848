#pragma once

#include <cstdint>

namespace meshscope::memory {

/// Bytes an element of a parameter takes in each of its three lives.
struct StateBytes {
    double parameter = 4;
    double gradient = 4;
    double optimizer = 8;  ///< Adam in float32: two moments. Mixed precision as ZeRO has it: 2, 2 and 12
};

/// What ZeRO's paper gives a device (arXiv 1910.02054, figure 1), by what it holds.
struct ModelState {
    double parameters = 0, gradients = 0, optimizer = 0;
    double total() const { return parameters + gradients + optimizer; }
};

/// Ψ parameters on N ranks. Stage 0: all on each rank; 1 cuts the optimizer's state over the ranks, 2 the
/// gradients too, 3 the parameters too. With 2, 2, 12 bytes: 16Ψ; 4Ψ + 12Ψ/N; 2Ψ + 14Ψ/N; 16Ψ/N.
ModelState zero_state(int32_t stage, double parameters, double ranks, const StateBytes& bytes);

/// What is kept of a transformer layer's activations (arXiv 2205.05198, table 2).
enum class Kept : uint8_t { all, tensor_parallel, sequence_parallel, selective, sequence_selective, nothing };

/// A transformer layer as that paper counts it: sequence s, micro-batch b, width h, a heads, t ranks of
/// tensor parallel.
struct LayerShape {
    double sequence = 0, batch = 0, width = 0, heads = 0, tensor_ranks = 1;
};

/// Bytes a layer, half precision and dropout masks as in the paper: sbh(34 + 5as/h) when all is kept.
double activation_bytes(Kept kept, const LayerShape& layer);

}  // namespace meshscope::memory
