#include "core/estimate/stack.h"

#include <algorithm>
#include <array>

namespace meshscope::estimate {
namespace {

constexpr std::array<StackTraits, kStacks> kTraits{{
    {.word = "megatron-2021",
     .attention = AttentionKernel::unfused,
     .pads_vocab = true,
     .host_us_per_op = 30,
     .ops_per_block = 34},
    {.word = "megatron-2023", .pads_vocab = true, .last_stages_light = true, .host_us_per_op = 14},
    {.word = "megatron-core",
     .attention = AttentionKernel::cudnn,
     .pads_vocab = true,
     .workspace_per_weight = true,
     .overlap_tensor = true},
    {.word = "llm-foundry",
     .attention = AttentionKernel::flash_1,
     .zero_1 = false,
     .fsdp = true,
     .reserved_share = 1.2,
     .host_us_per_op = 14},
    {.word = "fms-fsdp", .zero_1 = false, .fsdp = true, .reserved_share = 1.2},
    {.word = "torchtitan", .fused_kernels = false, .zero_1 = false, .fsdp = true, .reserved_share = 1.2},
    {.word = "nanotron",
     .fused_kernels = false,
     .balanced_stages = true,
     .ops_per_block = 30,
     .optimizer_bytes = 80,
     .step_host_ms = 30},
}};

constexpr std::array<std::string_view, kStacks> kWords = [] {
    std::array<std::string_view, kStacks> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = kTraits[i].word;
    return words;
}();

}  // namespace

const StackTraits& traits(Stack stack) {
    return kTraits[static_cast<std::size_t>(stack)];
}

std::optional<Stack> parse_stack(std::string_view word) {
    const auto found = std::ranges::find(kWords, word);
    if (found == kWords.end()) return std::nullopt;
    return static_cast<Stack>(found - kWords.begin());
}

std::span<const std::string_view> stack_words() {
    return kWords;
}

}  // namespace meshscope::estimate
