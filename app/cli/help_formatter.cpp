#include "app/cli/help_formatter.h"

#include <algorithm>
#include <vector>

#include "app/cli/table.h"

namespace meshscope::cli {
namespace {

void replace_first(std::string& text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
}

/// "1 … 1024" of "INT in [1 - 1024]"; "" when the validator describes no range.
std::string range_of(const std::string& description) {
    const std::size_t open = description.find('['), close = description.find(']');
    const std::size_t middle = description.find(" - ", open);
    if (open == std::string::npos || close == std::string::npos || middle == std::string::npos) return "";
    return description.substr(open + 1, middle - open - 1) + " … " +
           description.substr(middle + 3, close - middle - 3);
}

/// "off|hops" of "{off,hops}"; "" when the validator describes no set.
std::string words_of(const std::string& description) {
    if (description.size() < 2 || description.front() != '{' || description.back() != '}') return "";
    std::string words = description.substr(1, description.size() - 2);
    std::replace(words.begin(), words.end(), ',', '|');
    return words;
}

/// Where CLI11 put the validator's description behind the type's name: at its colon. A name may have colons
/// of its own ("HOST:PORT"); what follows them is neither a set nor a range.
std::size_t end_of_type(const std::string& full) {
    const std::size_t set = full.find(":{");
    if (set != std::string::npos) return set;
    const std::size_t range = full.find(" in [");
    return range == std::string::npos ? full.size() : full.rfind(':', range);
}

}  // namespace

HelpFormatter::HelpFormatter(const CommandContext& context) : context_(context) {
    for (const char* type : {"TEXT", "INT", "UINT", "FLOAT", "BOOLEAN"})
        label(type, context.text(std::string("cli.help.type.") + type));
    label("Usage", context.text("cli.help.usage"));
    label("OPTIONS", context.text("cli.help.options_word"));
    label("SUBCOMMAND", context.text("cli.help.command_word"));
    label("Positionals", context.text("cli.help.positionals"));
    column_width(34);
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
    std::string help = Formatter::make_help(app, std::move(name), mode);
    const std::string colon = context_.text("cli.help.colon");
    const std::string usage = get_label("Usage");
    replace_first(help, usage + ": ", usage + colon + (colon == ":" ? " " : ""));
    for (const char* id : {"cli.help.positionals", "cli.help.options", "cli.help.subcommands"}) {
        const std::string heading = "\n" + context_.text(id);
        replace_first(help, heading + ":\n", heading + colon + "\n");
    }
    return help;
}

/// A set of words is its own name; a given name that lists them
/// already is not told twice.
std::string HelpFormatter::type_of(const CLI::Option& option) const {
    const std::string full = option.get_type_name();
    const std::size_t end = std::min(end_of_type(full), full.size());
    const std::string type = full.substr(0, end);
    const std::string values = end == full.size() ? "" : full.substr(end + 1);
    const std::string words = words_of(values), range = range_of(values);
    if (!words.empty()) return type.empty() || type == "TEXT" ? words : type;
    std::string shown = option.get_positional() && type == "TEXT" ? "" : get_label(type);
    if (!range.empty()) shown += (shown.empty() ? "" : " ") + ("(" + range + ")");
    return shown;
}

/// Two columns as CLI11 sets them, but by the columns that a terminal shows: it counts bytes.
std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
    const std::string name = "  " + make_option_name(option, is_positional) + make_option_opts(option);
    const auto room = static_cast<int>(column_width_) - display_width(name);
    std::string text = name;
    text +=
        room > 0 ? std::string(static_cast<std::size_t>(room), ' ') : "\n" + std::string(column_width_, ' ');
    for (const char c : make_option_desc(option)) {
        text += c;
        if (c == '\n') text += std::string(column_width_, ' ');
    }
    return text + "\n";
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
    std::string text;
    if (option->get_type_size() != 0) {
        const std::string type = type_of(*option);
        if (!type.empty()) text += " " + type;
        if (!option->get_default_str().empty()) text += " = " + option->get_default_str();
        if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " …";
        if (option->get_required()) text += " " + context_.text("cli.help.required");
    }
    std::string others;
    for (const CLI::Option* other : option->get_excludes())
        others += (others.empty() ? "" : ", ") + other->get_name();
    if (!others.empty()) text += " " + context_.text("cli.help.excludes", {{"options", others}});
    return text;
}

}  // namespace meshscope::cli
