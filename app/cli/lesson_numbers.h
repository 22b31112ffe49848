#pragma once

#include <string>

#include "app/cli/lesson_variants.h"

namespace meshscope::cli {

/// The lesson's numbers and those of its variants, as its texts show them: "gathers = 4" lines, or one line
/// of JSON {"lesson": "63_hsdp", "numbers": {"gathers": "4", …}}, those of a variant called change.gathers. A
/// number that cannot be read is told on stderr; then false is returned.
bool print_numbers(const std::string& lesson, const scenario::Scenario& scenario, const trace::Trace& trace,
                   LessonVariants& variants, bool json, const CommandContext& context);

}  // namespace meshscope::cli
