#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/run.h"
#include "core/scenario/check_lesson.h"
#include "core/scenario/evaluate.h"

namespace meshscope::run {

/// What the run of a lesson's variant came to.
struct VariantRun {
    std::string id;
    std::shared_ptr<const trace::Trace> trace;        ///< what was recorded; null where nothing ran
    std::exception_ptr failure;                       ///< the Error it ended with; null: it ran to its end
    std::optional<Message> problem;                   ///< why this is not what the variant promised
    std::map<std::string, scenario::Answer> numbers;  ///< by name, {{break.gathers}}
};

/// Runs the scenario as its variant changes it (mistakes of the changed scenario are an end too), and holds
/// it to `ends`: problems are "lesson.variant_other_end" {wanted, found}, "lesson.variant_no_end" {wanted},
/// "lesson.variant_failed" {found}. Its numbers are read when it ran to its end as promised. Throws Cancelled
/// when `options.cancel` ended it. Cost: a run of the scenario.
VariantRun run_variant(const scenario::Scenario& scenario, const scenario::Variant& variant,
                       const Backends& backends, const RunOptions& options = {});

/// How a changed scenario is run; gives what run_up_to_failure gives, and throws what it throws.
using VariantRunner = std::function<RunResult(const scenario::Scenario& changed)>;

/// The same, its run being whoever's: that of processes which were started for it, for example.
VariantRun run_variant(const scenario::Scenario& scenario, const scenario::Variant& variant,
                       const VariantRunner& runner);

/// The variant as promises of its lesson: one of kind "variant", one of kind "number" for each number, one of
/// kind "at" for each moment that a step of the lesson asks of its run.
std::vector<scenario::LessonCheck> variant_checks(const scenario::Scenario& lesson,
                                                  const scenario::Variant& variant, const VariantRun& run);

/// The variants that any text of the lesson names a number of, in the scenario's order.
std::vector<const scenario::Variant*> variants_named(const scenario::Scenario& scenario,
                                                     const scenario::LessonText& en,
                                                     const scenario::LessonText& zh);

}  // namespace meshscope::run
