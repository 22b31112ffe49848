#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/estimate/question.h"
#include "core/nn/model/spec.h"
#include "core/scenario/plan_change.h"

namespace meshscope::scenario {

/// What a plan was asked, with the whole model: all that is needed to plan it again.
struct PlanFile {
    std::string model;  ///< what the model is called, "hf:config.json"
    nn::ModelSpec spec;
    std::optional<int64_t> most_tokens;  ///< the positions that its configuration states
    estimate::Question question;         ///< settled
};

/// What a plan is asked where nobody says more.
inline constexpr const char* kUsualGpu = "h100";
inline constexpr int64_t kUsualGpus = 8, kMostUsualSeq = 8192;

/// Of a model alone ("hf:config.json"), what can be planned at once: so many GPUs, a sample each, of the
/// model's longest sequence but at most kMostUsualSeq tokens. Throws InvalidArgument
/// "cli.plan.no_transformer" {kind}, and what named_model() and estimate::settled() throw.
PlanFile usual_plan(const std::string& model);
/// The same question with something changed. Throws what estimate::settled() throws.
PlanFile changed(PlanFile file, const PlanChange& change);

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
