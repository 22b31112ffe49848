#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/kinds.h"
#include "core/base/message.h"
#include "core/estimate/stack.h"

namespace meshscope::estimate {

/// A transformer's shape.
struct Shape {
    bool gated = true;  ///< llama's block: RMSNorm, rotary positions, three matrices in the feed-forward
                        ///< part; else gpt's: LayerNorm and two matrices
    int64_t layers = 0, dim = 0, hidden = 0;
    int64_t heads = 0, kv_heads = 0, head_dim = 0;
    int64_t vocab = 0, seq = 0;
    bool tied = false;               ///< the head's weight is the embedding's
    bool learned_positions = false;  ///< an embedding of `seq` positions
    bool bias = false;               ///< of the linear layers
    bool dropout = false;            ///< gpt: behind attention and feed-forward part; its masks are kept
    /// Parameters of a block beyond those of matrices, biases of all linear layers and two norms: q/k norms,
    /// the biases of some.
    int64_t block_extra = 0;
};

/// Of one block, whole: matrices, biases, norms.
int64_t block_parameters(const Shape& shape);
/// Of its matrices alone.
int64_t block_matrix_elements(const Shape& shape);
/// Of the embedding, without positions; the head's are as many.
int64_t embedding_parameters(const Shape& shape);
/// Of the model, each once.
int64_t parameters(const Shape& shape);
/// FLOPs of the model, forward and backward, a token: 6·N + 12·layers·heads·head_dim·seq, where N are the
/// parameters of matrix products, the head's among them and the embedding's not. The formula by which model
/// FLOPs utilisation is stated everywhere here: attention is counted whole, recomputation is not.
double model_flops_per_token(const Shape& shape);

/// What is computed again in backward instead of being kept.
enum class Recompute : uint8_t {
    none,
    attention,     ///< the scores of attention (Korthikanti et al.); a flash kernel always does
    every_second,  ///< every second block
    products,  ///< all but what half of the matrix products and attention made (torchtitan's per-op policy)
    full       ///< every block: its input alone is kept
};

/// The words of what a plan chooses from: "none", "selective" (products), "full". "attention" and
/// "every_second" are published runs' alone.
std::string_view word(Recompute recompute);
std::span<const std::string_view> recompute_words();
std::optional<Recompute> parse_recompute(std::string_view word);

/// How the order of a pipeline's micro-batches is chosen.
enum class Order : uint8_t { one_f_one_b, interleaved, zero_bubble_1p, zero_bubble_2p };

/// The ranks of each dim. Neighbouring ranks first: tp, cp, dp, pp.
struct Layout {
    int64_t tp = 1, cp = 1, pp = 1;
    int64_t replicas = 1, shards = 1;  ///< data-parallel: HSDP's two dims
    int zero = 0;  ///< what data-parallel ranks share out: 0 nothing, 1 optimizer state, 2 gradients too, 3
                   ///< parameters too
    bool sequence_parallel = false;
    int64_t virtual_stages = 1;  ///< of each pipeline rank
    Order order = Order::one_f_one_b;

    int64_t data_ranks() const { return replicas * shards; }
    int64_t ranks() const { return tp * cp * pp * replicas * shards; }
};

/// A training job: all that its time and memory are estimated from, beside the hardware.
struct Job {
    Shape shape;
    Layout layout;
    Stack stack = Stack::torchtitan;
    int64_t micro_batch = 1;     ///< samples
    int64_t micro_batches = 1;   ///< a step
    int64_t gradient_bytes = 4;  ///< of an element that is reduced: 4 or 2
    int64_t lora_rank = 0;  ///< adapters of this rank beside each linear layer of the blocks are trained,
                            ///< nothing else; 0: everything is
    /// Of an element of the matrices beside adapters: 16, or 4 (QLoRA's NF4, arXiv 2305.14314), which are
    /// made bfloat16 a matrix at a time, in forward and again in backward.
    int64_t base_bits = 16;
    Recompute recompute = Recompute::none;
    bool compiled = false;        ///< torch.compile fuses elementwise kernels
    bool overlap_data = true;     ///< gradients are reduced while backward goes on
    bool overlap_tensor = false;  ///< tensor parallelism's collectives run beside its products
    bool deterministic = false;   ///< kernels that give the same bits each time, slower ones; fitted apart
    bool fused_weight_grad =
        true;  ///< weight gradients are added where they are accumulated; else made first

    int64_t tokens() const { return shape.seq / layout.cp * micro_batch; }  ///< of a micro-batch, on one rank
    double tokens_per_step() const {
        return static_cast<double>(shape.seq) * static_cast<double>(micro_batch * micro_batches) *
               static_cast<double>(layout.data_ranks());
    }
};

/// The share of the parameters that are trained: 1, or LoRA's adapters' part.
double trained_share(const Job& job);

/// Of an element of the blocks' matrices where they lie: 2, or NF4's half a byte and its doubly quantised
/// factors, a byte for 64 elements and a float32 for 64 · 256.
double matrix_bytes(const Job& job);

/// The same as model_flops_per_token(shape), where weights that are frozen count 4 instead of 6: they get no
/// gradients.
double model_flops_per_token(const Job& job);

/// What no such job could be, if anything: a size below 1, heads that tp does not divide, more stages than
/// layers, 4-bit weights that are trained or cut by tp, cp or pp. Messages "estimate.…".
std::optional<Message> why_impossible(const Job& job);

/// What is wrong with the bits of frozen weights, if anything: "estimate.base_bits",
/// "estimate.base_bits_lora".
std::optional<Message> why_no_base_bits(int64_t base_bits, int64_t lora_rank);

}  // namespace meshscope::estimate
