#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/report.h"
#include "core/estimate/plan.h"
#include "core/estimate/remedies.h"
#include "core/nn/model/spec.h"

namespace meshscope::cli {

/// What a plan was asked and is told with, beside the question itself.
struct PlanTelling {
    std::string model;                   ///< as the command line names it
    int64_t top = 10;                    ///< layouts that are listed
    std::optional<double> price;         ///< of a GPU-hour
    std::optional<int64_t> most_tokens;  ///< the positions that a configuration states, where it does
    nn::ModelSpec spec = {};             ///< the model itself
    std::vector<estimate::Remedy> remedies = {};  ///< where no layout fits: what would help
};

/// Everything that plan answers, in words and tables.
Report plan_report(const estimate::Question& question, const estimate::Plan& made, const PlanTelling& telling,
                   const CommandContext& context);

/// And as JSON.
nlohmann::ordered_json plan_json(const estimate::Question& question, const estimate::Plan& made,
                                 const PlanTelling& telling);

}  // namespace meshscope::cli
