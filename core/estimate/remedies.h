#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/estimate/question.h"

namespace meshscope::estimate {

/// One change of a question under which a layout fits; what is absent stays.
struct Remedy {
    std::optional<int64_t> gpus = {}, global_batch = {};
    std::optional<int64_t> seq = {};
    std::optional<int64_t> lora_rank = {}, base_bits = {};
};

/// Changes of a question that no layout fits, each tried with plan(): the fewest GPUs, doubled up to 16 times
/// as many (with a sample for each where the batch has fewer); the longest sequence, halved down to 1/32;
/// LoRA of rank 16, and with base weights of 4 bits; where none of these helps, LoRA with a shorter sequence.
/// Those that do not help are absent. `go_on`: as plan(); ends the search. Cost: at most 21 plans.
std::vector<Remedy> remedies(const Question& question,
                             const std::function<bool(int64_t tried)>& go_on = nullptr);

}  // namespace meshscope::estimate
