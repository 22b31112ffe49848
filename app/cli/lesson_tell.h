#pragma once

#include <exception>
#include <string>

#include "app/cli/answers.h"
#include "app/cli/command.h"
#include "app/cli/lesson_variants.h"
#include "core/scenario/lesson.h"
#include "core/scenario/scenario.h"

namespace meshscope::cli {

/// What is told: a lesson in one language and the run of its scenario.
struct Told {
    const scenario::Scenario& scenario;
    const scenario::LessonText& text;
    const trace::Trace& trace;
    std::string next;  ///< what to read after it; "" = nothing
    /// What its run ended with, where that is what the lesson is about: told after its steps, since it
    /// answers their questions.
    std::exception_ptr failure = {};
};

/// Tells a lesson: goals, introduction, the steps with their numbers and quizzes, how the run ended early,
/// what to break and what to change with what came of it, the summary, the next lesson; then rank 0's
/// collectives of one step with the reason of each, the losses, and every rank's memory peak, in `width`
/// columns. At a terminal it waits after each part, and runs the variants on request. Of lines that are read
/// elsewhere each answers one question, or is told with its number.
void tell_lesson(const Told& told, LessonVariants& variants, Answers& answers, int width,
                 const CommandContext& context);

/// A table of the collectives of one rank in one step: op, unit, phase, group, elements in and out, bytes
/// sent, and why.
void print_collectives(const trace::Trace& trace, int32_t rank, int32_t step, const CommandContext& context,
                       int width);

/// Every rank's highest memory and what made it.
void print_memory(const trace::Trace& trace, const CommandContext& context);

}  // namespace meshscope::cli
