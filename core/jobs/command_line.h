#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/jobs/yaml.h"

namespace meshscope::jobs {

/// The options of a command line, or of a shell script with one: a table of "--key" (hyphens within) to its
/// value, as yaml_scalar() reads it; true for one without. Arrays of bash and quoted words that begin with
/// "--" count as the words they hold; variables that the script sets to plain words, with their defaults
/// (${NAME:-word}, ${NAME-word}, ${NAME:=word}) and sums, are put in; what expands to nothing and
/// redirections (2>&1) are no words; of one that it does not set "$NAME" stays. The script is not run: words
/// of all branches count. Options with two values go into `twice`, and have the last. Cost: linear in the
/// text, but for variables, whose values are put in where they are used.
nlohmann::json parse_command_line(std::string_view text, std::vector<Twice>& twice);

}  // namespace meshscope::jobs
