#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/estimate/question.h"
#include "core/nn/model/spec.h"

namespace meshscope::scenario {

/// What a plan was asked, with the whole model: all that is needed to plan it again.
struct PlanFile {
    std::string model;  ///< what the model is called, "hf:config.json"
    nn::ModelSpec spec;
    std::optional<int64_t> most_tokens;  ///< the positions that its configuration states
    estimate::Question question;         ///< settled
};

/// The most bytes of such a file: with --top 1000 it has about 2 MB.
inline constexpr int64_t kMostPlanBytes = int64_t{8} << 20;

/// Whether a text begins as what `meshscope plan --json` writes; its first bytes are enough.
bool begins_as_plan(std::string_view text);

/// Reads the question of what `meshscope plan --json` wrote; the answers in it are left aside. Throws
/// IoError; InputError "plan.file.not_json", "plan.file.no_question" (of another version or another file),
/// with all that is wrong with the question's keys "scenario.unknown_key" {key} and "plan.file.key" {key,
/// expected}, and what reading the model, the profile and estimate::settled() refuse.
PlanFile read_plan_file(const std::string& path);

}  // namespace meshscope::scenario
