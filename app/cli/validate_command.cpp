#include "app/cli/validate_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "app/cli/estimate_figures.h"
#include "app/cli/table.h"
#include "core/base/json_text.h"
#include "core/estimate/validation.h"

namespace meshscope::cli {
namespace {

using namespace estimate;
using nlohmann::ordered_json;

struct ValidateArguments {
    std::string file, family;
    bool json = false, rows = false, no_fit = false;
};

/// Everything that is shown: with the profiles' own speeds, and with fitted ones where that was wanted.
struct Answer {
    std::vector<PublishedRun> runs;
    Validation data_sheet, best;
};

/// Rows that a speed was fitted to say nothing of how good it is.
bool counts(const Compared& each) {
    return !each.run->launch_bound && !each.fitted;
}
bool counts_tier_a(const Compared& each) {
    return counts(each) && each.run->tier == "A";
}

std::vector<Compared> of_family(const Validation& validation, const std::string& family) {
    std::vector<Compared> rows;
    std::ranges::copy_if(validation.rows, std::back_inserter(rows),
                         [&](const Compared& each) { return each.run->family == family; });
    return rows;
}

std::vector<std::string> families(const Answer& answer) {
    std::vector<std::string> found;
    for (const Compared& each : answer.best.rows)
        if (!each.run->skipped && std::ranges::find(found, each.run->family) == found.end())
            found.push_back(each.run->family);
    return found;
}

ordered_json json_of(const Score& score) {
    return {{"rows", score.rows},   {"mape", score.mean_absolute}, {"bias", score.bias},
            {"worst", score.worst}, {"worst_id", score.worst_id},  {"spearman", score.spearman}};
}

ordered_json json_of(const Compared& each, const CommandContext& context) {
    const PublishedRun& run = *each.run;
    ordered_json row{{"id", run.id}, {"tier", run.tier}, {"fitted", each.fitted}};
    row["skipped"] = run.skipped ? ordered_json(context.text(*run.skipped)) : ordered_json();
    if (each.time_error)
        row["time"] = {{"published_ms", *run.step_ms},
                       {"ours_ms", 1e3 * each.time.total_s()},
                       {"error", *each.time_error}};
    if (each.memory_error)
        row["memory"] = {{"kind", word(run.memory_kind)},
                         {"published_bytes", *run.memory_bytes},
                         {"ours_bytes", each.memory_bytes},
                         {"error", *each.memory_error}};
    return row;
}

void print_json(const Answer& answer, const CommandContext& context) {
    ordered_json out;
    out["rows"] = ordered_json::array();
    for (const Compared& each : answer.best.rows) out["rows"].push_back(json_of(each, context));
    ordered_json& summary = out["summary"];
    summary["time"] = {
        {"data_sheet", json_of(score(answer.data_sheet.rows, &Compared::time_error, counts))},
        {"fitted", json_of(score(answer.best.rows, &Compared::time_error, counts))},
        {"data_sheet_tier_a", json_of(score(answer.data_sheet.rows, &Compared::time_error, counts_tier_a))},
        {"fitted_tier_a", json_of(score(answer.best.rows, &Compared::time_error, counts_tier_a))}};
    for (const std::string& family : families(answer)) {
        const std::vector<Compared> before = of_family(answer.data_sheet, family),
                                    after = of_family(answer.best, family);
        summary["families"][family] = {{"data_sheet", json_of(score(before, &Compared::time_error, counts))},
                                       {"fitted", json_of(score(after, &Compared::time_error, counts))},
                                       {"memory", json_of(score(after, &Compared::memory_error))}};
    }
    summary["fits"] = ordered_json::array();
    for (const Fit& fit : answer.best.fits)
        summary["fits"].push_back({{"gpu", fit.gpu},
                                   {"stack", traits(fit.stack).word},
                                   {"deterministic", fit.deterministic},
                                   {"speed", fit.speed},
                                   {"rows", fit.rows}});
    context.out << json_text(out, 1) << '\n';
}

/// A family's row of a table: rows, mean of |error|, bias, worst.
void add_score(std::vector<std::string>& cells, const Score& score, bool with_id) {
    if (score.rows == 0) {
        cells.insert(cells.end(), {"", "", ""});
    } else {
        cells.insert(cells.end(),
                     {percent(score.mean_absolute), percent(score.bias, true), percent(score.worst, true)});
    }
    if (with_id) cells.push_back(score.worst_id);
}

void print_time(const Answer& answer, bool fitted, const CommandContext& context) {
    Table table;
    const auto text = [&](const char* id) { return context.text(id); };
    table.header = {text("cli.validate.family"), text("cli.validate.runs"), text("cli.validate.mean"),
                    text("cli.validate.bias"), text("cli.validate.worst")};
    table.right = {false, true, true, true, true};
    if (fitted) {
        table.header.insert(table.header.end(), {text("cli.validate.fitted_mean"), text("cli.validate.bias"),
                                                 text("cli.validate.worst")});
        table.right.insert(table.right.end(), {true, true, true});
    }
    table.header.insert(table.header.end(), {text("cli.validate.worst_run"), text("cli.validate.order")});
    table.right.insert(table.right.end(), {false, true});
    const auto add = [&](const std::string& name, const std::vector<Compared>& before,
                         const std::vector<Compared>& after, bool (*of)(const Compared&), bool order) {
        const Score first = score(before, &Compared::time_error, of),
                    second = score(after, &Compared::time_error, of);
        if (first.rows == 0) return;
        std::vector<std::string> cells{name, std::to_string(first.rows)};
        add_score(cells, first, !fitted);
        if (fitted) add_score(cells, second, true);
        const std::string spearman = fixed(second.spearman, 3);
        cells.push_back(order && second.rows > 2 ? spearman : "");
        table.rows.push_back(std::move(cells));
    };
    for (const std::string& family : families(answer))
        add(family, of_family(answer.data_sheet, family), of_family(answer.best, family), counts, true);
    add(text("cli.validate.tier_a"), answer.data_sheet.rows, answer.best.rows, counts_tier_a, false);
    add(text("cli.validate.all"), answer.data_sheet.rows, answer.best.rows, counts, false);
    context.out << text(fitted ? "cli.validate.time_fitted" : "cli.validate.time") << '\n';
    print_table(table, context.out);
}

void print_memory(const Answer& answer, const CommandContext& context) {
    Table table;
    const auto text = [&](const char* id) { return context.text(id); };
    table.header = {text("cli.validate.family"),   text("cli.validate.kind"), text("cli.validate.runs"),
                    text("cli.validate.mean"),     text("cli.validate.bias"), text("cli.validate.worst"),
                    text("cli.validate.worst_run")};
    table.right = {false, false, true, true, true, true, false};
    for (const std::string& family : families(answer)) {
        const std::vector<Compared> rows = of_family(answer.best, family);
        std::set<MemoryKind> kinds;
        for (const Compared& each : rows)
            if (each.memory_error) kinds.insert(each.run->memory_kind);
        for (const MemoryKind kind : kinds) {
            std::vector<Compared> own;
            std::ranges::copy_if(rows, std::back_inserter(own),
                                 [&](const Compared& each) { return each.run->memory_kind == kind; });
            const Score found = score(own, &Compared::memory_error);
            if (found.rows == 0) continue;
            std::vector<std::string> cells{family,
                                           text(("cli.validate.kind." + std::string(word(kind))).c_str()),
                                           std::to_string(found.rows)};
            add_score(cells, found, true);
            table.rows.push_back(std::move(cells));
        }
    }
    if (table.rows.empty()) return;
    context.out << '\n' << text("cli.validate.memory") << '\n';
    print_table(table, context.out);
}

void print_fits(const Answer& answer, const CommandContext& context) {
    if (answer.best.fits.empty()) return;
    context.out << '\n' << context.text("cli.validate.fits") << '\n';
    Table table;
    table.header = {context.text("cli.validate.gpu"), context.text("cli.validate.stack"),
                    context.text("cli.validate.speed"), context.text("cli.validate.fit_rows")};
    table.right = {false, false, true, false};
    for (const Fit& fit : answer.best.fits) {
        std::string rows;
        for (const std::string& id : fit.rows) rows += (rows.empty() ? "" : ", ") + id;
        const std::string speed = fixed(fit.speed, 3);
        const std::string stack(traits(fit.stack).word);
        table.rows.push_back(
            {fit.gpu,
             fit.deterministic ? context.text("cli.validate.deterministic", {{"stack", stack}}) : stack,
             speed, rows});
    }
    print_table(table, context.out);
}

void print_rows(const Answer& answer, const CommandContext& context) {
    Table table;
    const auto text = [&](const char* id) { return context.text(id); };
    table.header = {
        text("cli.validate.run"),         text("cli.validate.tier"),  text("cli.validate.published_ms"),
        text("cli.validate.ours_ms"),     text("cli.validate.error"), text("cli.validate.published_memory"),
        text("cli.validate.ours_memory"), text("cli.validate.error"), text("cli.validate.note")};
    table.right = {false, false, true, true, true, true, true, true, false};
    for (const Compared& each : answer.best.rows) {
        const PublishedRun& run = *each.run;
        std::vector<std::string> cells{run.id, run.tier};
        if (each.time_error) {
            cells.insert(cells.end(), {estimated_ms(*run.step_ms * 1e-3), estimated_ms(each.time.total_s()),
                                       percent(*each.time_error, true)});
        } else {
            cells.insert(cells.end(), {"", "", ""});
        }
        if (each.memory_error) {
            cells.insert(cells.end(), {estimated_bytes(*run.memory_bytes), estimated_bytes(each.memory_bytes),
                                       percent(*each.memory_error, true)});
        } else {
            cells.insert(cells.end(), {"", "", ""});
        }
        cells.push_back(run.skipped
                            ? context.text("cli.validate.skipped", {{"why", context.text(*run.skipped)}})
                        : each.fitted      ? text("cli.validate.fitted")
                        : run.launch_bound ? text("cli.validate.launch_bound")
                                           : "");
        table.rows.push_back(std::move(cells));
    }
    print_table(table, context.out);
    context.out << '\n';
}

void validate_file(const ValidateArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    Answer answer;
    answer.runs = options.file.empty() ? published_runs() : read_published(options.file);
    if (!options.family.empty()) {
        std::erase_if(answer.runs, [&](const PublishedRun& run) { return run.family != options.family; });
        if (answer.runs.empty()) throw UsageError({"cli.validate.no_family", {{"family", options.family}}});
    }
    answer.data_sheet = estimate::validate(answer.runs, false);
    answer.best = options.no_fit ? answer.data_sheet : estimate::validate(answer.runs, true);
    if (options.json) return print_json(answer, context);
    if (options.rows) print_rows(answer, context);
    const auto skipped =
        std::ranges::count_if(answer.runs, [](const PublishedRun& run) { return run.skipped.has_value(); });
    context.out << context.text("cli.validate.head", {{"runs", static_cast<int64_t>(answer.runs.size())},
                                                      {"skipped", static_cast<int64_t>(skipped)}})
                << "\n\n";
    print_time(answer, !options.no_fit, context);
    print_memory(answer, context);
    print_fits(answer, context);
}

}  // namespace

void add_validate_command(CLI::App& app, CommandContext& context) {
    CLI::App* command = app.add_subcommand("validate", context.text("cli.validate.about"));
    command->footer(context.text("cli.validate.examples"));
    auto options = std::make_shared<ValidateArguments>();
    command->add_option("FILE", options->file, context.text("cli.validate.help.file"));
    command->add_option("--family", options->family, context.text("cli.validate.help.family"))
        ->type_name("WORD");
    command->add_flag("--rows", options->rows, context.text("cli.validate.help.rows"));
    command->add_flag("--no-fit", options->no_fit, context.text("cli.validate.help.no_fit"));
    command->add_flag("--json", options->json, context.text("cli.help.json"));
    command->callback([options, &context] { validate_file(*options, context); });
}

}  // namespace meshscope::cli
