#pragma once

#include <nlohmann/json.hpp>

#include "core/scenario/plan_file.h"

namespace meshscope::scenario {

/// The sizes that are asked for: {"tp": 8, "recompute": "none"}.
nlohmann::ordered_json sizes_json(const estimate::Sizes& sizes);

/// The object "question" of what `meshscope plan --json` writes.
nlohmann::ordered_json question_json(const PlanFile& file);

}  // namespace meshscope::scenario
