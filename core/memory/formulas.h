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

/// A transformer block as it is trained here, for the same count: no dropout, and an attention that never
/// keeps its scores, which is what the paper calls selective. Widths are numbers a token.
struct BlockShape {
    double tokens = 0;    ///< of a micro-batch: sequence · batch
    double width = 0;     ///< of the stream, and of the queries
    double kv_width = 0;  ///< of the keys, and of the values
    double hidden = 0;    ///< of the mlp
    bool gated = false;   ///< SwiGLU: two products in, and their product
    double element_bytes = 4;
    double tensor_ranks = 1;
    bool sequence_parallel = false;
};

/// What of a block is kept for its backward.
enum class BlockKept : uint8_t {
    all,       ///< the paper's selective: 10 + 24/t, 34/t with sequence parallelism, less the dropout masks
    products,  ///< its input and what its matrix products and attention made (torch's selective
               ///< checkpointing)
    input,     ///< its input alone: full recomputation
};

/// Bytes a block, in the paper's way: the norms' inputs and outputs are whole on every tensor-parallel rank
/// or, with sequence parallelism, cut; what lies inside attention and mlp is cut. A row-wise product makes a
/// whole partial sum, cut or not. With sequence parallelism the paper keeps the cut inputs of attention and mlp
/// and gathers them again in backward; PyTorch (and this engine) keep them gathered, 2·width·(1 - 1/t) more.
/// Left out, as there: a norm's and a softmax's few figures a row. With hidden = 4·width, kv_width = width
/// and 2 bytes an element `all` is tokens·width·(8 + 24/t), with sequence parallelism 32/t.
double activation_bytes(BlockKept kept, const BlockShape& block);

}  // namespace meshscope::memory
