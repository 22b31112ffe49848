#include "app/cli/lesson_store.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/nearest.h"
#include "core/scenario/lesson.h"

namespace meshscope::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array<const char*, 3> kFiles{"scenario.toml", "lesson.en.md", "lesson.zh.md"};

bool is_lesson(const fs::path& folder) {
    std::error_code error;
    return !folder.empty() && std::ranges::any_of(kFiles, [&](const char* file) {
        return fs::is_regular_file(folder / file, error);
    });
}

/// The lesson in this folder, called as the folder is: "." has a name too.
LessonFolder lesson_at(const fs::path& folder) {
    const fs::path tidy = folder.lexically_normal();
    fs::path whole = fs::absolute(tidy).lexically_normal();
    if (whole.filename().empty()) whole = whole.parent_path();  // "lessons/11_a/"
    return {whole.filename().string(), (tidy.filename().empty() ? tidy.parent_path() : tidy).string()};
}

/// Names of lessons have no slash; "." and ".." are folders everywhere.
bool is_path(const std::string& word) {
    return word.find('/') != std::string::npos || word == "." || word == "..";
}

/// The lesson that was probably meant, by its short name or its whole one; "" when none is near.
std::string meant(const std::string& word, const std::vector<LessonFolder>& lessons) {
    std::string small = word;
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    std::vector<std::string> shorts, wholes;
    for (const LessonFolder& lesson : lessons) {
        shorts.push_back(scenario::short_lesson_name(lesson.name));
        wholes.push_back(lesson.name);
    }
    for (const auto& names : {shorts, wholes})
        if (std::string guess = nearest(small, names); !guess.empty()) return guess;
    constexpr std::size_t kTelling = 3;  // letters: fewer stand in many names
    const auto holds = std::ranges::find_if(
        shorts, [&](const std::string& name) { return name.find(small) != std::string::npos; });
    return small.size() >= kTelling && holds != shorts.end() ? *holds : "";
}

/// The path as it was meant, where a lesson beside it has nearly this name.
std::string meant_path(const fs::path& path) {
    try {
        const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
        const std::string guess = meant(path.filename().string(), find_lessons(folder.string()));
        return guess.empty() ? "" : (path.parent_path() / guess).string();
    } catch (const Error&) {
        return "";  // there is no such folder either
    }
}

std::vector<LessonFolder> lessons_of_path(const std::string& word) {
    fs::path path = fs::path(word).lexically_normal();
    if (path.filename().empty() && path.has_relative_path()) path = path.parent_path();
    std::error_code error;
    if (fs::is_directory(path, error)) return find_lessons(path.string());
    const bool own = std::ranges::find(kFiles, path.filename().string()) != kFiles.end();
    const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (own && is_lesson(folder)) return {lesson_at(folder)};
    const std::string guess = fs::exists(path, error) ? "" : meant_path(path);
    if (!guess.empty()) throw UsageError({"cli.lesson.unknown_meant", {{"name", word}, {"guess", guess}}});
    throw UsageError({"cli.lesson.no_lesson", {{"path", word}}});
}

}  // namespace

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
    if (is_lesson(root)) return {lesson_at(root)};
    std::error_code error;
    fs::directory_iterator entries(root, error);
    if (error) throw IoError({"file.cannot_read", {{"path", root}}});
    std::vector<LessonFolder> lessons;
    for (const auto& entry : entries)
        if (is_lesson(entry.path())) lessons.push_back(lesson_at(entry.path()));
    if (lessons.empty()) throw UsageError({"cli.lesson.none", {{"folder", root}}});
    std::ranges::sort(lessons, scenario::lesson_before, &LessonFolder::name);
    return lessons;
}

std::vector<LessonFolder> choose_lessons(const std::string& word, const std::string& root,
                                         const CommandContext& context) {
    if (is_path(word) || is_lesson(word)) return lessons_of_path(word);
    const std::vector<LessonFolder> lessons = find_lessons(lesson_root(root, context));
    if (word == "all") return lessons;
    for (const LessonFolder& lesson : lessons)
        if (scenario::names_lesson(word, lesson.name)) return {lesson};
    std::error_code error;
    if (fs::exists(word, error)) return lessons_of_path(word);
    const std::string guess = meant(word, lessons);
    if (!guess.empty()) throw UsageError({"cli.lesson.unknown_meant", {{"name", word}, {"guess", guess}}});
    std::string known;
    for (const LessonFolder& lesson : lessons) known += (known.empty() ? "" : ", ") + lesson.name;
    throw UsageError({"cli.lesson.unknown", {{"name", word}, {"known", known}}});
}

}  // namespace meshscope::cli
