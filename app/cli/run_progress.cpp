#include "app/cli/run_progress.h"

#include <sstream>
#include <utility>

#include "app/cli/progress.h"
#include "core/base/error.h"

namespace meshscope::cli {
namespace {

/// `how` is run::run_scenario, or its like.
run::RunResult with_progress(decltype(run::run_scenario)* how, const scenario::Scenario& scenario,
                             const CommandContext& context, run::RunOptions options, bool quiet) {
    ProgressBar bar(context.other_err(), context.err_is_tty && !quiet);
    const Polling polling(context);
    options.cancel = context.cancelled;
    options.progress = [&](int32_t done, int32_t steps, double loss) {
        std::ostringstream text;
        text << loss;
        bar.show(done, steps,
                 context.text("cli.run.progress",
                              {{"done", int64_t{done}}, {"steps", int64_t{steps}}, {"loss", text.str()}}));
    };
    try {
        return how(scenario, *context.make_backends(), options);
    } catch (const IoError& error) {
        // A folder that the scenario names is wrong at its line.
        const MessageValue* const path = error.message().find("path");
        if (error.message().id != "checkpoint.cannot_read" || scenario.checkpoint.resume.empty() ||
            path == nullptr || to_text(*path) != scenario.checkpoint.resume || !options.resume.empty())
            throw;
        throw InputError({{error.message(), scenario.checkpoint.resume_at, {}}});
    }
}

}  // namespace

run::RunResult run_with_progress(const scenario::Scenario& scenario, const CommandContext& context,
                                 run::RunOptions options, bool quiet) {
    return with_progress(run::run_scenario, scenario, context, std::move(options), quiet);
}

run::RunResult run_lesson_with_progress(const scenario::Scenario& scenario, const CommandContext& context,
                                        run::RunOptions options) {
    return with_progress(run::run_up_to_failure, scenario, context, std::move(options), false);
}

}  // namespace meshscope::cli
