#include "app/cli/run_tell.h"

#include <cmath>
#include <ostream>
#include <sstream>

#include "app/cli/table.h"

namespace meshscope::cli {

void print_losses(const trace::Trace& trace, const CommandContext& context,
                  const std::vector<run::Evaluated>& evaluations) {
    constexpr std::size_t kShown = 10;  // at each end
    const std::vector<double>& losses = trace.info.losses;
    const std::vector<double>& norms = trace.info.grad_norms;
    if (losses.empty()) return;  // nothing was trained
    Table table;
    table.header = {context.text("cli.run.step"), context.text("cli.run.loss")};
    if (!norms.empty()) table.header.push_back(context.text("cli.run.grad_norm"));
    if (!evaluations.empty()) table.header.push_back(context.text("cli.run.eval_loss"));
    table.right = {true, true, true, true};
    const auto digits = [](double value) -> std::string {
        if (std::isnan(value)) return "nan";  // its sign means nothing
        std::ostringstream out;
        out.precision(9);
        out << value;
        return out.str();
    };
    for (std::size_t s = 0; s < losses.size(); ++s) {
        if (losses.size() > 2 * kShown + 1 && s == kShown) {
            table.rows.push_back({"…", "…"});
            s = losses.size() - kShown;
        }
        std::vector<std::string> row{std::to_string(s), digits(losses[s])};
        if (s < norms.size()) row.push_back(digits(norms[s]));
        for (const run::Evaluated& e : evaluations)
            if (e.step == static_cast<int32_t>(s)) row.push_back(digits(e.loss));
        table.rows.push_back(std::move(row));
    }
    print_table(table, context.out);
}

std::string cause_words(const memory::Peak& peak, const CommandContext& context) {
    if (peak.event < 0) return "";
    return peak.what + ' ' + context.phase(peak.phase);
}

std::string check_name(const std::string& id, const scenario::Text& title, const CommandContext& context) {
    const std::string& words = context.language == i18n::Language::zh ? title.zh : title.en;
    return words.empty() ? id : words;
}

bool print_checks(const std::vector<scenario::CheckResult>& checks, const CommandContext& context) {
    bool all = true;
    for (const scenario::CheckResult& check : checks) {
        all &= check.passed;
        const std::string name = check_name(check.id, check.title, context);
        if (check.passed) {
            context.out << context.styled(context.text("cli.check.ok"), "32") << "  " << name << '\n';
            continue;
        }
        context.out << context.styled(context.text("cli.check.failed"), "31") << "  " << name << ": "
                    << (check.error ? i18n::place(check.position) + ": " + context.text(*check.error)
                                    : context.text("cli.check.value", {{"value", check.value}}))
                    << '\n';
    }
    return all;
}

}  // namespace meshscope::cli
