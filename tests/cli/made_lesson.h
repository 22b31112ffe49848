#pragma once

#include <string>

#include "tests/cli/program.h"

namespace made_lesson {

/// A scenario up to its lesson: the toy under FSDP2 on two ranks, two steps.
extern const std::string kHead;

/// A lesson's two files: one step, one number, two variants, two questions and a check, all of them true.
extern const std::string kScenario;
extern const std::string kText;

/// A folder of lessons with one lesson; its text is the same in both languages.
void write_lesson(const program::Folder& folder, const std::string& scenario, const std::string& text);

/// With every run of spaces and line breaks as one space: where a line breaks depends on the folder's name.
std::string flat(const std::string& text);

}  // namespace made_lesson
