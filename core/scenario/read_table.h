#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "core/scenario/scenario.h"

namespace meshscope::scenario {

/// The one reader of scenarios: from the table of a file, whatever made it. `path` and `source` go into the
/// scenario. Throws InputError with every mistake.
Scenario read_table(const toml::table& table, const std::string& path, std::string source);

/// A value as TOML, in one line; fractions have the fewest digits that read back the same.
std::string toml_text(const toml::node& node);

}  // namespace meshscope::scenario
