#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// A lesson on disk: a folder NN_name with scenario.toml, lesson.en.md and lesson.zh.md.
struct LessonFolder {
    std::string name;    ///< "63_hsdp"
    std::string folder;  ///< its path
};

/// Where lessons lie: `given` (--scenarios) when not empty, else share/meshscope/scenarios beside the
/// program's folder (installed), else the source tree this program was built from. Throws IoError
/// "cli.lesson.no_folder" when there is none.
std::string lesson_root(const std::string& given, const CommandContext& context);

/// Every lesson of a root, by name.
std::vector<LessonFolder> find_lessons(const std::string& root);

/// The lessons a user means: "all", "63_hsdp", "hsdp", "63". Throws UsageError "cli.lesson.unknown" with what
/// there is.
std::vector<LessonFolder> choose_lessons(const std::vector<LessonFolder>& lessons, const std::string& word);

}  // namespace meshscope::cli
