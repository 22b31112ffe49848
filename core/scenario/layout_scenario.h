#pragma once

#include <optional>
#include <string>

#include "core/base/message.h"
#include "core/estimate/question.h"
#include "core/nn/model/spec.h"

namespace meshscope::scenario {

/// Why a planned job is not written as a scenario, if so: weights of 4 bits ("plan.no_scenario_4bit"), LoRA
/// whose optimizer state alone is shared out ("plan.no_scenario_lora"), stages without a layer
/// ("plan.no_scenario_stages" {stages, layers}), fewer micro-batches than 1F1B takes
/// ("plan.no_scenario_micro_batches" {batches, pp}).
std::optional<Message> why_no_scenario(const estimate::Job& job);

/// A planned layout as a scenario that predict and the window can play: the model, the mesh in the order of
/// neighbouring ranks (pp, replicate, shard, cp, tp), the strategy, bfloat16 beside float32 values that AdamW
/// updates (with LoRA bfloat16 alone, as its frozen weights are), keys and values that go round the ring of a
/// cp group, collectives of two levels where there are several nodes, eager PyTorch's kernels where the
/// software has them, the GPUs of a node, and the profile: `profile_file`, as the scenario's [hardware] names
/// it, or where that is "" the question's, if the program has it by that name. `steps` of the whole batch.
/// Whether it can be played the scenario's reader says. why_no_scenario() must be nothing.
std::string layout_scenario(const estimate::Question& question, const nn::ModelSpec& model,
                            const estimate::Job& job, int32_t steps, const std::string& profile_file = "");

}  // namespace meshscope::scenario
