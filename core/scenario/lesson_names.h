#pragma once

#include <cstdint>
#include <string>

namespace meshscope::scenario {

/// "hsdp" of "63_hsdp"; a name without a number is short already.
std::string short_lesson_name(const std::string& folder);

/// Whether `word` means the lesson in the folder called `folder`: "63_hsdp", "hsdp", "63" or "063". The
/// terminal and the window take the same names.
bool names_lesson(const std::string& word, const std::string& folder);

/// The chapter that a folder of the course stands in: 6 for "63_hsdp", its first digit of two. 0 for others.
int32_t chapter_of_folder(const std::string& folder);

}  // namespace meshscope::scenario
