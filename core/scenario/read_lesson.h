#pragma once

#include "core/scenario/scenario.h"
#include "core/scenario/section.h"

namespace meshscope::scenario {

/// Reads title, [[lesson.step]], [[lesson.number]], [[quiz]] and [[check]]. Ids must be there once each;
/// quizzes name a step, and texts only numbers, that exist. SQL is not looked at here: it is run against a
/// trace, read-only. `mesh_known`: how many ranks the run has may be told.
void read_lesson_content(const Section& root, bool mesh_known, Scenario& scenario);

}  // namespace meshscope::scenario
