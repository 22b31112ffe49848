#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/message.h"
#include "core/estimate/job.h"
#include "core/nn/model/spec.h"
#include "core/time/profile.h"

namespace meshscope::estimate {

/// Sizes that a layout must have; what is absent may be any.
struct Sizes {
    std::optional<int64_t> tp = {}, cp = {}, pp = {}, stages = {};  ///< stages: of each pipeline rank
    std::optional<int64_t> zero = {}, micro = {};                   ///< of Layout; samples in a micro-batch
    std::optional<Recompute> recompute = {};

    /// Whether any of them is wanted.
    bool any() const;
};

/// A size by its name, "tp", and what it may be.
struct SizeKey {
    std::string_view name;
    std::optional<int64_t> Sizes::*size;
    int64_t least, most;
};
/// All sizes but recompute.
std::span<const SizeKey> size_keys();

/// The most that is planned for.
inline constexpr int64_t kMostGpus = 65536, kMostBatch = int64_t{1} << 30;
using nn::kMostLoraRank;

/// What is asked of a plan: a model, GPUs, and how much of it all a step takes.
struct Question {
    Shape shape;
    Stack stack = Stack::torchtitan;
    bool compiled = true;
    int64_t lora_rank = 0, base_bits = 16;  ///< of a Job
    int64_t gpus = 1, gpus_per_node = 8;    ///< nodes of so many, the last perhaps of fewer: see in_node()
    int64_t global_batch = 1;  ///< samples a step
    time::Profile profile;
    double memory_bytes = 0;  ///< of a GPU
    Sizes only = {};          ///< no layout without these

    /// The GPUs of a node: no more than there are.
    int64_t in_node() const { return std::min(gpus_per_node, gpus); }
};

/// What a user may leave open: the model's own length of a sample, a sample a GPU, the profile's memory.
struct Stated {
    std::optional<int64_t> seq = {}, global_batch = {};
    std::optional<double> memory_bytes = {};
};

/// A question as a user asks it, with what is left open filled in (`shape.seq` before: the model's own
/// length). Throws InvalidArgument for what has no answer whatever
/// the layout: "estimate.base_bits" {bits}, "estimate.base_bits_lora", "estimate.size" {name, value, least,
/// most}, "estimate.positions" {seq, most} where learned positions end before the sample does,
/// "estimate.no_memory" {gpu} where the profile does not state any.
Question settled(Question question, const Stated& stated);

}  // namespace meshscope::estimate
