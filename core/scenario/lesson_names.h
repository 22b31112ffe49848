#pragma once

#include <string>

namespace meshscope::scenario {

/// "hsdp" of "02_hsdp"; a name without a number is short already.
std::string short_lesson_name(const std::string& folder);

/// Whether `word` means the lesson in the folder called `folder`: "02_hsdp", "hsdp", "2" or "02". The
/// terminal and the window take the same names.
bool names_lesson(const std::string& word, const std::string& folder);

}  // namespace meshscope::scenario
