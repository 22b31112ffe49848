#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate/plan.h"

namespace meshscope::estimate {

// What is told of a layout beside its time and memory, the same by the command and in the window.

/// Above this part of a GPU's memory an estimate cannot promise that a layout fits.
inline constexpr double kTightShare = 0.9;

/// How data-parallel ranks share out the model: "1", "DDP 8", "ZeRO-1 8", "FSDP 8", "HSDP 2×8".
std::string data_word(const Layout& layout);

/// A job's layout in a few words: "TP 8 · PP 4 × 2 · HSDP 2×8 · recompute=full"; "1 GPU" of one alone.
std::string layout_word(const Job& job);

/// The options of `meshscope plan` that a question differs from the usual one in, but for the model, the
/// GPUs and the batch: "--eager --only tp=8"; "" where it does in none.
std::string options_text(const Question& question);

/// The largest part of what a layout needs.
StageMemory::Part largest_part(const StageMemory& memory);

double tokens_per_s_per_gpu(const Layouted& layout);

/// Model FLOPs utilisation; nothing where the profile states no peak.
std::optional<double> utilisation(const Question& question, const Layouted& layout);

/// Whether two layouts differ in the size of a micro-batch alone, or in what a context-parallel rank shares
/// with data-parallel ones.
bool twins(const Layouted& a, const Layouted& b);

/// The first `n` of a list that are no twins of one before.
std::vector<const Layouted*> first_layouts(const std::vector<Layouted>& all, int64_t n);

}  // namespace meshscope::estimate
