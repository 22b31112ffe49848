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

/// The lessons of a folder, by name; of a lesson's own folder that one. A folder with any of a lesson's three
/// files counts: which one it lacks is told when it is read. Throws UsageError "cli.lesson.none" where there
/// is no lesson, IoError "file.cannot_read".
std::vector<LessonFolder> find_lessons(const std::string& root);

/// The lessons a user means: "all", "63_hsdp", "hsdp", "63", or a path: of a lesson's folder, of one of its
/// files, of a folder of lessons. `root` is --scenarios. Throws UsageError "cli.lesson.unknown_meant" with
/// what was probably meant, "cli.lesson.unknown" with what there is, "cli.lesson.no_lesson" {path} for a path
/// that is none.
std::vector<LessonFolder> choose_lessons(const std::string& word, const std::string& root,
                                         const CommandContext& context);

}  // namespace meshscope::cli
