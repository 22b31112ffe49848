#include "app/cli/lesson_command.h"

#include <exception>

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "app/cli/divergence.h"
#include "app/cli/lesson_numbers.h"
#include "app/cli/lesson_print.h"
#include "app/cli/lesson_run.h"
#include "app/cli/lesson_store.h"
#include "app/cli/lesson_tell.h"
#include "app/cli/outputs.h"
#include "app/cli/run_tell.h"
#include "app/cli/table.h"
#include "backends/registry.h"
#include "core/scenario/check_lesson.h"
#include "core/trace/store.h"

namespace meshscope::cli {
namespace {

struct LessonArguments {
    std::string name, root, backend, trace;
    bool no_input = false, json = false, force = false;
};

int terminal_width(const CommandContext& context) {
    winsize size{};
    if (!context.out_is_tty || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return std::clamp<int>(size.ws_col, 20, 100);  // longer lines are hard to read
}

std::string mesh_text(const scenario::Scenario& scenario) {
    std::string sizes, names;
    for (const int64_t size : scenario.mesh_shape)
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    for (const std::string& name : scenario.mesh_names) names += (names.empty() ? "" : ", ") + name;
    return "(" + sizes + ") " + names;
}

/// One row a lesson, under its chapter's title. A lesson that names no chapter stands under none.
void list(const LessonArguments& options, CommandContext& context) {
    Table table;
    std::vector<int32_t> chapters;
    for (const char* id : {"name", "title", "ranks", "mesh", "steps", "quizzes"})
        table.header.push_back(context.text(std::string("cli.lesson.column.") + id));
    table.right = {false, false, true, false, true, true};
    for (const LessonFolder& lesson : find_lessons(lesson_root(options.root, context))) {
        try {
            const scenario::Scenario scenario = scenario::read_scenario(lesson.folder + "/scenario.toml");
            chapters.push_back(scenario.chapter);
            table.rows.push_back({lesson.name, in_language(scenario.title, context),
                                  std::to_string(scenario::world_size(scenario)), mesh_text(scenario),
                                  std::to_string(scenario.steps_of_lesson.size()),
                                  std::to_string(scenario.quizzes.size())});
        } catch (const Error& error) {  // the others are listed all the same
            const i18n::ErrorText text = context.describe(error);
            for (const std::string& line : text.lines) context.err << "meshscope: " << line << '\n';
            context.exit_code = text.exit_code;
        }
    }
    // All chapters' columns are aligned: one table, with the titles put between its rows.
    std::stringstream rows;
    print_table(table, rows);
    std::string row;
    std::getline(rows, row);
    context.out << row << '\n';
    for (std::size_t i = 0; i < chapters.size() && std::getline(rows, row); ++i) {
        if (chapters[i] > 0 && (i == 0 || chapters[i] != chapters[i - 1])) {
            const std::string title = context.text("cli.lesson.chapter." + std::to_string(chapters[i]));
            context.out << '\n';
            print_heading(std::to_string(chapters[i]) + "  " + title, context, terminal_width(context));
        }
        context.out << row << '\n';
    }
}

/// The lesson that follows, in the folders' order; "" after the last.
std::string next_of(const LessonFolder& lesson, const CommandContext& context) {
    try {
        // By a file in it: "." and "11_a/" name no folder whose parent could be taken.
        const auto file = std::filesystem::absolute(lesson.folder + "/scenario.toml").lexically_normal();
        const auto all = find_lessons(file.parent_path().parent_path());
        const auto next =
            std::ranges::find_if(all, [&](const auto& other) { return other.name > lesson.name; });
        if (next == all.end()) return "";
        const scenario::Scenario scenario = scenario::read_scenario(next->folder + "/scenario.toml");
        return context.text("cli.lesson.next",
                            {{"name", next->name}, {"title", in_language(scenario.title, context)}});
    } catch (const Error&) {
        return "";  // its mistakes are told when it is run
    }
}

/// Whether the lesson can be run on the backend that was asked for; else why not is told.
bool can_run(const LessonFolder& lesson, const scenario::Scenario& scenario, const LessonArguments& options,
             CommandContext& context) {
    const std::string reason = lesson_needs_threads(scenario, options.backend, context);
    if (reason.empty()) return true;
    context.err << "meshscope: "
                << context.text("cli.lesson.only_threads", {{"lesson", lesson.name}, {"reason", reason}})
                << '\n';
    context.exit_code = ExitCode::usage;
    return false;
}

void run(const LessonArguments& options, CommandContext& context) {
    const auto lessons = choose_lessons(options.name, options.root, context);
    if (!options.trace.empty() && lessons.size() > 1)  // each would take the place of the one before
        throw UsageError({"cli.lesson.one_trace", {{"lessons", static_cast<int64_t>(lessons.size())}}});
    Answers answers(answers_from(options.no_input, context.in_is_tty, context.out_is_tty), std::cin);
    // Before anything is read: who sees the program wait knows for what.
    if (answers.from() == Answers::From::lines)
        context.err << context.text("cli.lesson.lines.begin") << std::endl;
    for (const LessonFolder& lesson : lessons) {
        const scenario::Scenario scenario = scenario::read_scenario(lesson.folder + "/scenario.toml");
        if (!can_run(lesson, scenario, options, context)) continue;
        const scenario::LessonText text = scenario::read_lesson(lesson.folder, i18n::name(context.language));
        std::vector<std::string> inputs = inputs_of(scenario);
        for (const char* language : {"en", "zh"})
            inputs.push_back(lesson.folder + "/lesson." + language + ".md");
        check_outputs({{options.trace, FileKind::trace}}, inputs, options.force);
        const run::RunResult result = run_lesson(scenario, options.backend, context, options.force);
        if (!options.trace.empty()) trace::write_trace(*result.trace, options.trace);
        if (!result.failure && result.trace->info.steps < scenario.steps) {
            context.exit_code = ExitCode::interrupted;
            return;
        }
        if (result.not_finite) {
            context.err << "meshscope: " << not_finite_text(*result.not_finite, context) << '\n';
            if (!scenario.expects_divergence) context.exit_code = ExitCode::diverged;
        }
        LessonVariants variants = lesson_variants(scenario, options.backend, context, options.force);
        tell_lesson({scenario, text, *result.trace, next_of(lesson, context), result.failure}, variants,
                    answers, terminal_width(context), context);
        if (lessons.size() > 1) context.out << '\n';
    }
    std::string rest;
    if (answers.from() == Answers::From::lines && answers.next(rest)) {
        context.out.flush();
        context.err << "meshscope: "
                    << context.text("cli.lesson.lines.left", {{"line", int64_t{answers.line()}}}) << '\n';
    }
}

/// Prints one line a check; true when all hold that can be checked on this backend.
bool check_one(const LessonFolder& lesson, const LessonArguments& options, CommandContext& context) {
    const std::string ok = context.styled(context.text("cli.check.ok"), "32");
    const std::string failed = context.styled(context.text("cli.check.failed"), "31");
    const auto skip = [&](const std::string& what, const std::string& reason) {
        context.out << context.styled(context.text("cli.check.skipped"), "33") << "  " << lesson.name << what
                    << ": " << reason << '\n';
    };
    bool all = true;
    const auto tell = [&](const Error& error) {
        const i18n::ErrorText text = context.describe(error);
        for (const std::string& line : text.lines)  // an indented one is the hint to the one before
            context.out << (line.starts_with(' ') ? "" : failed + "  " + lesson.name + "  ") << line << '\n';
        all = false;
    };
    scenario::Scenario scenario;
    scenario::LessonText en, zh;
    // One after the other: a mistake in one file hides none in the next.
    const auto read = [&](auto& into, const auto& how) {
        try {
            into = how();
        } catch (const Error& error) {
            tell(error);
        }
    };
    read(scenario, [&] { return scenario::read_scenario(lesson.folder + "/scenario.toml"); });
    read(en, [&] { return scenario::read_lesson(lesson.folder, "en"); });
    read(zh, [&] { return scenario::read_lesson(lesson.folder, "zh"); });
    if (!all) return false;
    std::vector<scenario::LessonCheck> checks;
    try {
        if (const std::string why = lesson_needs_threads(scenario, options.backend, context); !why.empty()) {
            skip("", why);
            return true;
        }
        const run::RunResult result = run_lesson(scenario, options.backend, context);
        if (!result.failure && result.trace->info.steps < scenario.steps)
            throw Cancelled({"cli.lesson.check_cancelled", {}});
        if (result.not_finite && !scenario.expects_divergence)
            throw Error(run::not_finite_message(*result.not_finite, context.phase(result.not_finite->phase)));
        checks = scenario::check_lesson(scenario, en, zh, *result.trace, trace::TraceDatabase(*result.trace));
        LessonVariants variants = lesson_variants(scenario, options.backend, context);
        for (const scenario::Variant& variant : scenario.variants) {
            if (const auto why = variant_needs_threads(variant, options.backend)) {
                skip("  " + context.text("cli.lesson.kind.variant", {{"id", variant.id}}),
                     context.text(*why));
                continue;
            }
            for (scenario::LessonCheck& check : run::variant_checks(scenario, variant, variants.run(variant)))
                checks.push_back(std::move(check));
        }
    } catch (const Cancelled&) {
        throw;  // no lesson's failure, and no other lesson shall begin
    } catch (const Error& error) {
        tell(error);
        return false;
    }
    for (const scenario::LessonCheck& check : checks) {
        const std::string name = check_name(check.id, check.title, context);
        const std::string where =
            lesson.name + "  " + context.text("cli.lesson.kind." + check.kind, {{"id", name}});
        if (check.problems.empty()) context.out << ok << "  " << where << '\n';
        for (const Diagnostic& problem : check.problems) {
            const std::string place = i18n::place(problem.position);
            context.out << failed << "  " << where << ": " << place << (place.empty() ? "" : ": ")
                        << context.text(problem.message) << '\n';
            if (!problem.hint.id.empty()) context.out << "    " << context.text(problem.hint) << '\n';
        }
        all &= check.problems.empty();
    }
    return all;
}

void numbers(const LessonArguments& options, CommandContext& context) {
    context.json_errors = options.json;
    for (const LessonFolder& lesson : choose_lessons(options.name, options.root, context)) {
        const scenario::Scenario scenario = scenario::read_scenario(lesson.folder + "/scenario.toml");
        if (!can_run(lesson, scenario, options, context)) continue;
        const run::RunResult result = run_lesson(scenario, options.backend, context);
        if (!result.failure && result.trace->info.steps < scenario.steps)
            throw Cancelled({"cli.lesson.check_cancelled", {}});
        LessonVariants variants = lesson_variants(scenario, options.backend, context);
        if (!print_numbers(lesson.name, scenario, *result.trace, variants, options.json, context))
            context.exit_code = ExitCode::check_failed;
    }
}

void check(const LessonArguments& options, CommandContext& context) {
    // What is not here is no lesson's failure.
    if (!options.backend.empty()) backends::require_built(options.backend, context.environment);
    bool all = true;
    for (const LessonFolder& lesson : choose_lessons(options.name, options.root, context))
        all &= check_one(lesson, options, context);
    if (!all) context.exit_code = ExitCode::check_failed;
}

}  // namespace

void add_lesson_command(CLI::App& app, CommandContext& context) {
    CLI::App* lesson = app.add_subcommand("lesson", context.text("cli.lesson.about"));
    lesson->footer(context.text("cli.lesson.examples"));
    lesson->require_subcommand(1);
    auto options = std::make_shared<LessonArguments>();
    const auto add = [&](const char* name, void (*work)(const LessonArguments&, CommandContext&)) {
        CLI::App* command =
            lesson->add_subcommand(name, context.text(std::string("cli.lesson.") + name + ".about"));
        command->footer(context.text("cli.lesson.examples"));
        command->add_option("--scenarios", options->root, context.text("cli.lesson.help.scenarios"))
            ->type_name("FOLDER");
        command->callback([options, work, &context] { work(*options, context); });
        return command;
    };
    add("list", list);
    for (CLI::App* command : {add("run", run), add("check", check), add("numbers", numbers)}) {
        command->add_option("NAME", options->name, context.text("cli.lesson.help.name"))->required();
        command->add_option("--backend", options->backend, context.text("cli.run.help.backend"))
            ->type_name("NAME");
        if (command->get_name() == "numbers")
            command->add_flag("--json", options->json, context.text("cli.lesson.help.json"));
        if (command->get_name() != "run") continue;
        command->add_option("--trace", options->trace, context.text("cli.run.help.trace"))->type_name("FILE");
        command->add_flag("--force", options->force, context.text("cli.run.help.force"));
        command->add_flag("--no-input", options->no_input, context.text("cli.lesson.help.no_input"));
    }
}

}  // namespace meshscope::cli
