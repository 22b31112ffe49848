#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"
#include "core/trace/query.h"

namespace meshscope::scenario {

/// One thing a lesson promises.
struct LessonCheck {
    std::string kind;                  ///< "text", "link", "number", "at", "quiz", "check", "variant"
    std::string id;                    ///< of the step, number, quiz or check
    std::vector<Diagnostic> problems;  ///< empty: it holds; each with its place in the text or the scenario
    Text title = {};                   ///< a check's
};

/// Holds a lesson to its promises on a run of its scenario: it names its chapter (its folder's number
/// without the last digit) and has the variants `break` and `change`; both texts have the scenario's steps in
/// its order, goals of two to four points, break, change, a summary of five points, and the same numbers in
/// each section; every number, `at` and quiz answer comes out; every placeholder has its number; links point
/// at ranks, dims, units, events, steps and views that exist; the scenario's checks pass. The variants' own
/// runs are held to theirs by core/run/variant.h.
std::vector<LessonCheck> check_lesson(const Scenario& scenario, const LessonText& en, const LessonText& zh,
                                      const trace::Trace& trace, const trace::TraceDatabase& database);

}  // namespace meshscope::scenario
