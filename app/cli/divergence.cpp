#include "app/cli/divergence.h"

#include <ostream>

#include "core/base/error.h"

namespace meshscope::cli {

std::string not_finite_text(const run::NotFinite& found, const CommandContext& context) {
    return context.text(run::not_finite_message(found, context.phase(found.phase)));
}

bool save_was_refused(const run::RunResult& result, const std::string& save) {
    return !save.empty() && !run::all_finite(result.parameters);
}

void tell_divergence(const run::RunResult& result, const std::string& save, bool is_no_failure,
                     const CommandContext& context) {
    if (save_was_refused(result, save))
        context.err << "meshscope: " << context.text("cli.run.save_not_finite", {{"path", save}}) << '\n';
    if (is_no_failure) context.err << "meshscope: " << not_finite_text(*result.not_finite, context) << '\n';
}

void throw_divergence(const run::RunResult& result, const std::string& save, bool expected,
                      CommandContext& context) {
    if (!result.not_finite) return;
    if (expected) {
        if (save_was_refused(result, save)) context.exit_code = ExitCode::diverged;
        return;
    }
    context.json_errors = context.json_errors_aside = false;  // the JSON that was written says it
    throw Error(run::not_finite_message(*result.not_finite, context.phase(result.not_finite->phase)));
}

}  // namespace meshscope::cli
