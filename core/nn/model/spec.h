#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/attention.h"

namespace meshscope::nn {

/// What stands between `up` and the activation of mlp's layers: torch.nn.BatchNorm1d, or
/// torch.nn.SyncBatchNorm, whose statistics are those of all data-parallel ranks' rows.
enum class Norm : uint8_t { none, batch, sync_batch };

/// Which RMSNorm queries and keys pass before they are turned: none, one over each head's elements (weights
/// of head_dim, Qwen3), or one over all heads together (weights of the projection's width, OLMo 2).
enum class QkNorm : uint8_t { none, head, width };

/// Where a block's norms stand: on what goes into attention and mlp (before), on what comes out of them ahead
/// of the residual sum (after, OLMo 2), or on both (Gemma 3).
enum class NormPlace : uint8_t { before, after, both };

/// What stands in an mlp: of llama on the gate, of gpt between `up` and `down`.
enum class Activation : uint8_t { silu, gelu, gelu_tanh, relu };

/// The most that one of the sizes below may be.
inline constexpr int64_t kMostSize = 1 << 20;
/// The most that the rank of LoRA's adapters may be.
inline constexpr int64_t kMostLoraRank = 4096;

/// What a scenario's [model] says. Fields that a kind does not use are ignored here and refused by the
/// scenario reader.
struct ModelSpec {
    std::string kind = "toy";     ///< toy, mlp, gpt, llama
    int64_t dim = 0;              ///< all but toy
    int64_t hidden = 0;           ///< all but toy
    int64_t layers = 0;           ///< all but toy
    int64_t vocab = 0;            ///< gpt, llama: tokens are 0 … vocab-1
    int64_t vocab_multiple = 1;   ///< gpt, llama: what the tables' rows are rounded up to
    int64_t seq = 0;              ///< gpt, llama: tokens a sample
    int64_t heads = 0;            ///< gpt, llama: divides dim unless head_dim is given
    int64_t kv_heads = 0;         ///< llama: divides heads
    double rope_theta = 10000.0;  ///< llama
    bool tied = false;            ///< gpt, llama: head.weight is tok.weight
    bool bias = true;             ///< mlp: whether its linear layers have one
    Norm norm = Norm::none;       ///< mlp

    /// LoRA (arXiv 2106.09685): beside each linear layer that lora_targets names there are lora_A and lora_B
    /// of this rank, and nothing else is trained; 0: there are none.
    int64_t lora_rank = 0;
    double lora_alpha = 8;                    ///< what they add is multiplied by alpha / rank
    std::vector<std::string> lora_targets{};  ///< last parts of names ("wq"); empty: all but the head
    /// Whether the linear layer called `name` has adapters.
    bool adapts(std::string_view name) const {
        if (lora_rank == 0 || name == "head") return false;
        const std::string_view last = name.substr(name.rfind('.') + 1);
        return lora_targets.empty() || std::ranges::find(lora_targets, last) != lora_targets.end();
    }
    /// Modules and parameters that are not trained, as expand_range() reads them.
    std::vector<std::string> frozen{};

    // gpt and llama, which differ in what each may have.
    int64_t head_dim = 0;           ///< elements of a head; 0: dim / heads
    bool block_bias = false;        ///< gpt: whether the linear layers of its blocks have one
    bool qkv_bias = false;          ///< llama
    bool out_bias = false;          ///< llama: of attention's wo
    bool mlp_bias = false;          ///< llama
    QkNorm qk_norm = QkNorm::none;  ///< llama
    /// gpt: gelu_tanh, where none is given, gelu or relu; llama: silu, where none is given, gelu or
    /// gelu_tanh.
    std::optional<Activation> activation{};
    double norm_eps = 1e-5;
    NormPlace norm_place = NormPlace::before;  ///< llama
    bool zero_centered_norm = false;           ///< llama: the norms' factors are 1 + weight
    bool scaled_embedding = false;             ///< llama: embeddings are multiplied by √dim
    int64_t window = 0;                     ///< tokens that a query sees, itself the last; 0: all before it
    std::vector<int64_t> full_attention{};  ///< numbers of the layers that `window` is not for
    bool rope_halves = false;            ///< llama: element i turns with i + head_dim/2, not 2i with 2i + 1
    tensor::RopeScaling rope_scaling{};  ///< llama; of the layers without a window where window_rope_theta is
    double window_rope_theta = 0;        ///< llama: base in the layers with a window; 0: rope_theta
    double attention_scale = 0;          ///< of the scores; 0: 1/√head_dim

    /// Rows of the embedding's and the head's table: tokens, and padding that no token names.
    int64_t padded_vocab() const { return (vocab + vocab_multiple - 1) / vocab_multiple * vocab_multiple; }
    Activation used_activation() const {
        return activation.value_or(kind == "llama" ? Activation::silu : Activation::gelu_tanh);
    }
    int64_t head_width() const { return head_dim > 0 ? head_dim : dim / heads; }
    int64_t query_width() const { return heads * head_width(); }
    int64_t kv_width() const { return (kind == "llama" ? kv_heads : heads) * head_width(); }
    /// What layer `i` sees: `window`, or 0 for all.
    int64_t window_of(int64_t i) const {
        return std::ranges::find(full_attention, i) == full_attention.end() ? window : 0;
    }
};

}  // namespace meshscope::nn
