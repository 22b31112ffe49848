#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "core/jobs/yaml.h"

namespace meshscope::jobs {

/// parse_json() that tells of keys with two values, which go into `twice` and have the last; two tables or
/// lists under one key count as two values whatever they hold. Cost: linear in the text.
nlohmann::json parse_json_tree(std::string_view text, std::vector<Twice>& twice);

}  // namespace meshscope::jobs
