#include "app/cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/comm/chooser.h"
#include "core/scenario/nearest.h"

namespace meshscope::cli {
namespace {

/// The innermost subcommand that was given.
const CLI::App& innermost(const CLI::App& app) {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
    return *at;
}

/// The words that neither the program nor the given subcommands took, but for the "--" that only ends the
/// options.
std::vector<std::string> left_over(const CLI::App& app) {
    std::vector<std::string> words = app.remaining();
    for (const CLI::App* sub : app.get_subcommands())
        for (const std::string& word : left_over(*sub)) words.push_back(word);
    std::erase(words, "--");
    return words;
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(sub->get_name());
    return names;
}

std::string unknown_word(const CLI::App& app, const std::string& word, const CommandContext& context) {
    const bool option = word.starts_with("-");
    std::vector<std::string> candidates = option ? option_names(app) : subcommand_names(app);
    if (option && app.get_parent())
        for (const std::string& name : option_names(*app.get_parent())) candidates.push_back(name);
    // A misspelled `--option=value` is compared without its value.
    const std::string guess = scenario::nearest(word.substr(0, word.find('=')), candidates);
    if (!guess.empty()) return context.text("cli.unknown_word_meant", {{"word", word}, {"guess", guess}});
    return context.text(option ? "cli.unknown_option" : "cli.unknown_word", {{"word", word}});
}

/// A sentence of CLI11 2.x, by its Error.hpp and Validators.hpp, with its gaps in braces, and ours for it.
/// The gaps become the arguments, by name; one called "…" is skipped.
struct Phrase {
    const char* id;
    std::string_view said;
};

constexpr std::array kPhrases{
    Phrase{"cli.out_of_range", "{option}: Value {value} not in range {least} to {most}"},
    Phrase{"cli.out_of_range", "{option}: Value {value} not in range [{least} - {most}]"},
    Phrase{"cli.not_one_of", "{option}: {value} not in {{known}}"},
    Phrase{"cli.not_convertible", "Could not convert: {option} = {value}"},
    Phrase{"cli.value_missing", "{option}: {…} required {…} missing"},
    Phrase{"cli.value_missing", "Expected exactly {…} arguments to {option}, got 0"},
    Phrase{"cli.value_missing", "Expected at least {…} arguments to {option}, got 0"},
    Phrase{"cli.value_count", "{option}: At Most {expected} required but received {given}"},
    Phrase{"cli.value_count", "{option}: At least {expected} required but received {given}"},
    Phrase{"cli.value_count", "Expected exactly {expected} arguments to {option}, got {given}"},
    Phrase{"cli.flag_value", "{option} was given a disallowed flag override"},
    Phrase{"cli.flag_value", "{option}: Should be true/false or a number"},
    Phrase{"cli.needs", "{option} requires {other}"},
    Phrase{"cli.excludes", "{option} excludes {other}"},
};

/// What stands in the gaps when `detail` is that sentence: each gap reaches to the next words of the phrase.
std::optional<std::vector<MessageArg>> gaps_of(std::string_view said, std::string_view detail) {
    std::vector<MessageArg> arguments;
    while (true) {
        std::size_t open = said.find('{');
        if (open + 1 < said.size() && said[open + 1] == '{') ++open;  // a brace of the sentence itself
        const std::string_view words = said.substr(0, std::min(open, said.size()));
        if (!detail.starts_with(words)) return std::nullopt;
        detail.remove_prefix(words.size());
        if (open == std::string_view::npos) break;
        const std::size_t close = said.find('}', open);
        const std::string name(said.substr(open + 1, close - open - 1));
        said.remove_prefix(close + 1);
        const std::string_view next = said.substr(0, said.find('{'));
        const std::size_t end = next.empty() ? detail.size() : detail.find(next);
        if (end == std::string_view::npos || end == 0) return std::nullopt;
        if (name != "…") arguments.push_back({name, std::string(detail.substr(0, end))});
        detail.remove_prefix(end);
    }
    if (!detail.empty()) return std::nullopt;
    return arguments;
}

/// CLI11's detail in the user's language; as it stands where it is none that we know.
std::string translated(const std::string& detail, const CommandContext& context) {
    for (const Phrase& phrase : kPhrases)
        if (auto arguments = gaps_of(phrase.said, detail)) return context.text(phrase.id, *arguments);
    return context.text("cli.bad_usage", {{"detail", detail}});
}

}  // namespace

std::vector<std::string> describe_usage_error(const CLI::App& app, int error_code, const std::string& detail,
                                              const CommandContext& context) {
    const CLI::App& at = innermost(app);
    std::vector<std::string> lines;
    const std::vector<std::string> extras = left_over(app);
    // The error's name is no help: for words left over CLI11 puts the program's name there.
    const bool required = error_code == static_cast<int>(CLI::ExitCodes::RequiredError);
    if (error_code == static_cast<int>(CLI::ExitCodes::ExtrasError) || (required && !extras.empty())) {
        for (const std::string& word : extras) lines.push_back(unknown_word(at, word, context));
        if (lines.empty()) lines.push_back(context.text("cli.bad_usage", {{"detail", detail}}));
    } else if (required) {
        // CLI11 says "NAME is required" or "A subcommand is required".
        if (!at.get_subcommands([](const CLI::App*) { return true; }).empty()) {
            lines.push_back(context.text("cli.no_subcommand"));
        } else {
            lines.push_back(context.text("cli.missing", {{"name", detail.substr(0, detail.find(' '))}}));
        }
    } else {
        lines.push_back(translated(detail, context));
    }
    std::string command = at.get_name();
    for (const CLI::App* parent = at.get_parent(); parent; parent = parent->get_parent())
        command = parent->get_name() + " " + command;
    lines.push_back(context.text("cli.see_help", {{"command", command}}));
    return lines;
}

void refuse_empty_values(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        const bool argument = option->get_positional();
        if (option->empty() || (argument && option->get_items_expected_max() > 1)) continue;
        if (std::ranges::find(option->results(), "") == option->results().end()) continue;
        if (argument) throw UsageError({"cli.empty_argument", {{"name", option->get_name()}}});
        throw UsageError({"cli.run.empty_value", {{"option", option->get_name()}}});
    }
}

void refuse_threads_in_launcher(const std::string& backend, int32_t ranks,
                                const launch::Placement& placement) {
    const bool threads = backend == "threads" || backend.starts_with("cuda");
    if (!threads || placement.world_size == 1) return;
    throw UsageError({"cli.run.threads_in_launcher",
                      {{"backend", backend},
                       {"launcher", launch::launcher_name(placement)},
                       {"processes", int64_t{placement.world_size}},
                       {"ranks", int64_t{ranks}}}});
}

void refuse_bad_schedule(const std::string& schedule) {
    if (schedule.empty()) return;
    try {
        comm::make_chooser(schedule);
    } catch (const InvalidArgument&) {
        throw UsageError({"cli.run.schedule_malformed", {{"schedule", schedule}}});
    }
}

void refuse_bad_init_method(const std::string& init_method) {
    if (init_method.empty() || init_method == "env://" || init_method.starts_with("tcp://") ||
        init_method.starts_with("file:///"))
        return;
    throw UsageError({"tcp.init_method", {{"init_method", init_method}}});
}

}  // namespace meshscope::cli
