#include "app/cli/lesson_store.h"

#include <algorithm>
#include <filesystem>

#include "core/scenario/lesson_names.h"
#include "core/scenario/nearest.h"

namespace meshscope::cli {
namespace fs = std::filesystem;

std::string lesson_root(const std::string& given, const CommandContext& context) {
    std::vector<std::string> candidates;
    if (!given.empty()) {
        candidates = {given};
    } else {
        candidates = {context.program_folder + "/../share/meshscope/scenarios", MESHSCOPE_SCENARIOS};
    }
    std::error_code error;
    for (const std::string& folder : candidates)
        if (fs::is_directory(folder, error)) return fs::path(folder).lexically_normal().string();
    throw IoError({"cli.lesson.no_folder", {{"folder", candidates.back()}}});
}

std::vector<LessonFolder> find_lessons(const std::string& root) {
    std::vector<LessonFolder> lessons;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root, error))
        if (fs::is_regular_file(entry.path() / "scenario.toml", error))
            lessons.push_back({entry.path().filename().string(), entry.path().string()});
    std::sort(lessons.begin(), lessons.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return lessons;
}

std::vector<LessonFolder> choose_lessons(const std::vector<LessonFolder>& lessons, const std::string& word) {
    if (word == "all") return lessons;
    std::vector<std::string> names;
    for (const LessonFolder& lesson : lessons) {
        if (scenario::names_lesson(word, lesson.name)) return {lesson};
        names.push_back(scenario::short_lesson_name(lesson.name));
    }
    const std::string guess = scenario::nearest(word, names);
    if (!guess.empty()) throw UsageError({"cli.lesson.unknown_meant", {{"name", word}, {"guess", guess}}});
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw UsageError({"cli.lesson.unknown", {{"name", word}, {"known", known}}});
}

}  // namespace meshscope::cli
