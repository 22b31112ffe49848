#include "app/cli/usage.h"

#include <CLI/CLI.hpp>
#include <array>
#include <regex>

#include "core/scenario/nearest.h"

namespace meshscope::cli {
namespace {

/// The innermost subcommand that was given.
const CLI::App& innermost(const CLI::App& app) {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
    return *at;
}

/// The words that neither the program nor the given subcommands took.
std::vector<std::string> left_over(const CLI::App& app) {
    std::vector<std::string> words = app.remaining();
    for (const CLI::App* sub : app.get_subcommands())
        for (const std::string& word : left_over(*sub)) words.push_back(word);
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

/// A sentence of CLI11 with gaps, and ours for it. Compared whole; the gaps become the arguments, by name.
struct Phrase {
    const char* id;
    const char* pattern;
    std::array<const char*, 4> arguments;
};

/// What CLI11 2.x can say of a value, by its Error.hpp and Validators.hpp.
constexpr std::array kPhrases{
    Phrase{"cli.out_of_range",
           "(\\S+): Value (.*) not in range (\\S+) to (\\S+)",
           {"option", "value", "least", "most"}},
    Phrase{"cli.out_of_range",
           "(\\S+): Value (.*) not in range \\[(\\S+) - (\\S+)\\]",
           {"option", "value", "least", "most"}},
    Phrase{"cli.not_one_of", "(\\S+): (.*) not in \\{(.*)\\}", {"option", "value", "known"}},
    Phrase{"cli.not_convertible", "Could not convert: (\\S+) = (.*)", {"option", "value"}},
    Phrase{"cli.value_missing", "(\\S+): \\d+ required (?:.*) missing", {"option"}},
    Phrase{"cli.value_missing", "Expected (?:exactly|at least) \\d+ arguments to (\\S+), got 0", {"option"}},
    Phrase{"cli.value_count",
           "(\\S+): At (?:Most|least) (\\d+) required but received (\\d+)",
           {"option", "expected", "given"}},
    Phrase{"cli.value_count",
           "Expected exactly (\\d+) arguments to (\\S+), got (\\d+)",
           {"expected", "option", "given"}},
    Phrase{"cli.flag_value", "(\\S+) was given a disallowed flag override", {"option"}},
    Phrase{"cli.flag_value", "(\\S+): Should be true/false or a number", {"option"}},
    Phrase{"cli.needs", "(\\S+) requires (\\S+)", {"option", "other"}},
    Phrase{"cli.excludes", "(\\S+) excludes (\\S+)", {"option", "other"}},
};

/// CLI11's detail in the user's language; as it stands where it is none that we know.
std::string translated(const std::string& detail, const CommandContext& context) {
    for (const Phrase& phrase : kPhrases) {
        std::smatch match;
        if (!std::regex_match(detail, match, std::regex(phrase.pattern))) continue;
        std::vector<MessageArg> arguments;
        for (std::size_t i = 0; i + 1 < match.size(); ++i)
            arguments.push_back({phrase.arguments[i], match[i + 1].str()});
        return context.text(phrase.id, arguments);
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

}  // namespace meshscope::cli
