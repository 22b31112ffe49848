#pragma once

#include <exception>
#include <functional>
#include <map>
#include <string>

#include "app/cli/command.h"
#include "core/run/variant.h"

namespace meshscope::cli {

/// The variants of a lesson, each run when it is first needed.
class LessonVariants {
  public:
    using Run = std::function<run::VariantRun(const scenario::Variant&)>;

    /// `scenario` outlives it.
    LessonVariants(const scenario::Scenario& scenario, Run run) : scenario_(scenario), run_(std::move(run)) {}

    /// The variant called `id`; null when the lesson has none.
    const scenario::Variant* find(const std::string& id) const;
    /// What its run came to; `variant` is one that find() gave.
    const run::VariantRun& run(const scenario::Variant& variant);
    /// A number by name, {{break.gathers}}; "?" where there is none.
    std::string number(const std::string& name);

  private:
    const scenario::Scenario& scenario_;
    Run run_;
    std::map<std::string, run::VariantRun> done_;
};

/// The keys that a variant changes, as they would stand in the file.
void print_changes(const scenario::Variant& variant, const CommandContext& context);
/// What the variant's run came to: the sentence it ended with, else its figures beside those of the lesson's
/// own run.
void print_variant_run(const run::VariantRun& run, const trace::Trace& lesson, const CommandContext& context,
                       int width);

}  // namespace meshscope::cli
