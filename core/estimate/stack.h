#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace meshscope::estimate {

/// The software that trains: its kernels, what it keeps and what it overlaps.
enum class Stack : uint8_t {
    megatron_2021,  ///< Megatron-LM and Megatron-DeepSpeed before FlashAttention
    megatron_2023,  ///< Megatron-LM with FlashAttention 2
    megatron_core,  ///< Megatron-LM and NeMo over Transformer Engine
    llm_foundry,    ///< MosaicML's, over FSDP1, with the first FlashAttention
    fms_fsdp,       ///< IBM's, over FSDP1 and torch.compile
    torchtitan,     ///< PyTorch's own, over FSDP2
    nanotron        ///< Hugging Face's
};
inline constexpr int kStacks = 7;

/// How attention is computed. A flash kernel never writes the matrix of scores to memory.
enum class AttentionKernel : uint8_t { unfused, flash_1, flash_2, cudnn };

/// What a stack is known to do. Kernels, dtypes and overlap are its code's; the host's times are estimates,
/// from runs of narrow models that wait for nothing else.
struct StackTraits {
    std::string_view word;
    AttentionKernel attention = AttentionKernel::flash_2;
    /// Norms, activations and the loss are a kernel each; else eager PyTorch's several.
    bool fused_kernels = true;
    bool pads_vocab = false;  ///< to a multiple of 128 × tp
    /// The pipeline's stages are cut by cost, embedding and head counted.
    bool balanced_stages = false;
    /// The first and the last stage hold a layer less than the others.
    bool last_stages_light = false;
    /// An unused gradient in the weights' dtype is kept for each shape of weight.
    bool workspace_per_weight = false;
    bool zero_1 = true;  ///< data-parallel ranks can share out the optimizer's state alone
    bool fsdp = false;   ///< and all of the model, whole or within groups (HSDP)
    /// Tensor parallelism's collectives run beside its products where the stack's own recipes for
    /// pre-training are followed: NeMo's turn it on (tp_comm_overlap).
    bool overlap_tensor = false;
    /// What PyTorch's allocator takes from the device for what is allocated: 1.04 was the median of SimuMax's
    /// runs (1.03 to 1.10); FSDP's buffers, freed on other streams, leave gaps: 1.20 to 1.36 of torchtitan's.
    double reserved_share = 1.04;
    /// From one operation's launch to the next one's, where the GPU is done sooner.
    double host_us_per_op = 10;
    int64_t ops_per_block = 24;   ///< forward; backward has half as many again
    double optimizer_bytes = 34;  ///< read and written, a parameter
    double step_host_ms = 0;      ///< a step's end that no kernel fills: data, clipping, logging
};

const StackTraits& traits(Stack stack);
std::optional<Stack> parse_stack(std::string_view word);
/// All of their words, in the order of the enum.
std::span<const std::string_view> stack_words();

}  // namespace meshscope::estimate
