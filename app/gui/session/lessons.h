#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/session/app_state.h"

namespace meshscope::session {

/// The lessons of a chapter, as places in the offers.
struct Chapter {
    int32_t number = 0;  ///< 0: those that are in none
    std::vector<std::size_t> offers;
};

/// The name of the folder that a scenario lies in: "63_hsdp".
std::string folder_of(const std::string& scenario);
/// The lesson that stands behind the open one in the course; null where none does, or where none is open.
const LessonCard* next_lesson(const AppState& state);

/// The lessons with the texts that a search looks through. Cost: reads some 10 kB a lesson.
std::vector<LessonCard> with_search_words(std::vector<LessonCard> offers);

/// The offers by chapter, those without one last. Cost: linear.
std::vector<Chapter> chapters_of(const std::vector<LessonCard>& offers);

/// The lessons in which every word of the query stands, in the order of the course: first those whose number
/// begins with it, then those whose title has it, in either language, then those whose text has it. All of
/// them for an empty query. Cost: linear in the texts.
std::vector<std::size_t> find_lessons_by(const std::vector<LessonCard>& offers, const std::string& query);

/// A text as a search compares it: capitals of ASCII become small letters, "-" is "_" (all-reduce is
/// all_reduce), and Chinese wide spaces are spaces.
std::string searched(std::string text);

/// How far the reader is in a lesson.
enum class Reached { nothing, begun, done };
Reached reached(const AppState& state, const LessonCard& card);
/// Null for one that was never open.
const LessonProgress* progress_of(const AppState& state, const LessonCard& card);

/// The lesson to go on with: the latest that was open and is not done, else the first that is not, else the
/// first. Nothing without lessons.
std::optional<std::size_t> go_on_with(const AppState& state);

inline constexpr int64_t kMostMeshRanks = 64;

/// The mesh that a search asks for: "2,2,2", "4 x 2" or "2 × 2", two or three sizes from 1 on and at most
/// kMostMeshRanks ranks; the first dim is named replicate, then shard, then tp. Nothing for other words.
std::optional<std::vector<MeshDim>> mesh_named(const std::string& typed);

/// A scenario of calls alone: on a mesh of these dims each dim's groups make one all_reduce.
RunRequest mesh_request(const std::vector<MeshDim>& dims);

}  // namespace meshscope::session
