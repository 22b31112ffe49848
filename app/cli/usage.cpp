#include "app/cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/one_process.h"
#include "core/comm/interleaving_scheduler.h"
#include "core/time/read_profile.h"

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

/// The option or the command that an unknown word was probably meant to be; "" when none is near.
std::string meant_by(const CLI::App& app, const std::string& word) {
    const bool option = word.starts_with("-");
    std::vector<std::string> candidates = option ? option_names(app) : subcommand_names(app);
    if (option && app.get_parent())
        for (const std::string& name : option_names(*app.get_parent())) candidates.push_back(name);
    // A misspelled `--option=value` is compared without its value.
    return nearest(word.substr(0, word.find('=')), candidates);
}

/// Whether the word behind this unknown option is its value: that of the option which was meant.
bool takes_next(const CLI::App& app, const std::string& word) {
    if (!word.starts_with("--") || word.find('=') != std::string::npos) return false;
    const std::string meant = meant_by(app, word);
    const CLI::Option* found = app.get_option_no_throw(meant);
    if (!found && app.get_parent()) found = app.get_parent()->get_option_no_throw(meant);
    return found && found->get_items_expected_min() > 0;
}

std::string unknown_word(const CLI::App& app, const std::string& word, const CommandContext& context) {
    const bool option = word.starts_with("-");
    const std::string guess = meant_by(app, word);
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
    Phrase{"cli.number_out_of_range", "{option}: Number {value} not in range {least} to {most}"},
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
        if (end == std::string_view::npos || (end == 0 && name != "value")) return std::nullopt;
        if (name != "…") arguments.push_back({name, std::string(detail.substr(0, end))});
        detail.remove_prefix(end);
    }
    if (!detail.empty()) return std::nullopt;
    return arguments;
}

/// What an option's number counts, where its type says it: " (seconds)".
std::string unit_of(const CLI::App& command, const std::vector<MessageArg>& arguments,
                    const CommandContext& context) {
    const auto option = std::ranges::find(arguments, "option", &MessageArg::name);
    if (option == arguments.end()) return "";
    const CLI::Option* const found = command.get_option_no_throw(to_text(option->value));
    return found && found->get_type_name().starts_with("SECONDS") ? context.text("cli.unit.seconds") : "";
}

/// CLI11 lists what may be written without spaces: "off,hops" becomes "off, hops".
void spread(std::vector<MessageArg>& arguments) {
    for (MessageArg& argument : arguments) {
        auto* const words = std::get_if<std::string>(&argument.value);
        if (argument.name != "known" || !words) continue;
        for (std::size_t at = words->find(','); at != std::string::npos; at = words->find(',', at + 2))
            if (words->compare(at, 2, ", ") != 0) words->insert(at + 1, " ");
    }
}

/// CLI11's detail in the user's language; as it stands where it is none that we know.
std::string translated(const CLI::App& command, const std::string& detail, const CommandContext& context) {
    for (const Phrase& phrase : kPhrases)
        if (auto arguments = gaps_of(phrase.said, detail)) {
            spread(*arguments);
            arguments->push_back({"unit", unit_of(command, *arguments, context)});
            return context.text(phrase.id, *arguments);
        }
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
        for (std::size_t i = 0; i < extras.size(); ++i) {
            lines.push_back(unknown_word(at, extras[i], context));
            if (i + 1 < extras.size() && !extras[i + 1].starts_with("-") && takes_next(at, extras[i])) ++i;
        }
        if (lines.empty()) lines.push_back(context.text("cli.bad_usage", {{"detail", detail}}));
    } else if (required) {
        // CLI11 says "NAME is required" or "A subcommand is required".
        if (!at.get_subcommands([](const CLI::App*) { return true; }).empty()) {
            lines.push_back(context.text("cli.no_subcommand"));
        } else {
            lines.push_back(context.text("cli.missing", {{"name", detail.substr(0, detail.find(' '))}}));
        }
    } else {
        lines.push_back(translated(at, detail, context));
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
    const bool one_process = is_of_one_process(backend) || backend.starts_with("cuda");
    if (!one_process || placement.world_size == 1) return;
    throw UsageError({"cli.run.threads_in_launcher",
                      {{"backend", backend},
                       {"launcher", launch::launcher_name(placement)},
                       {"processes", int64_t{placement.world_size}},
                       {"ranks", int64_t{ranks}}}});
}

void refuse_bad_schedule(const std::string& schedule) {
    if (schedule.empty()) return;
    try {
        comm::make_scheduler(schedule);
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

time::Profile profile_option(const std::string& word) {
    if (word.ends_with(".toml")) return time::read_profile(word);
    try {
        return time::named_profile(word);
    } catch (const InvalidArgument& unknown) {
        throw UsageError(unknown.message());
    }
}

}  // namespace meshscope::cli
