#include "app/cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "app/cli/help_formatter.h"

namespace meshscope::cli {
namespace {

/// The words of "en|zh"; nothing where `type` is no set of words.
std::vector<std::string> set_of(const std::string& type) {
    std::vector<std::string> words;
    if (type.find('|') == std::string::npos) return words;
    std::string word;
    for (const char c : type + "|") {
        if (c == '|') {
            if (word.empty()) return {};
            words.push_back(std::exchange(word, ""));
        } else if (c == ' ' || c == '<' || (c >= 'A' && c <= 'Z')) {
            return {};  // "FILE|none": a word of it stands for others
        } else {
            word += c;
        }
    }
    return words;
}

CommandOption option_of(const CLI::Option& option, const HelpFormatter& formatter) {
    CommandOption made;
    const bool positional = option.get_positional();
    made.shown = formatter.make_option_name(&option, positional) + formatter.make_option_opts(&option);
    made.about = option.get_description();
    made.takes_value = option.get_type_size() != 0 && option.get_expected_min() > 0;  // a flag may have one
    if (made.takes_value) made.values = set_of(formatter.type_of(option));
    if (positional) {
        made.names.push_back(option.get_name(true));
    } else {
        for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
    }
    return made;
}

CommandNode node_of(const CLI::App& command, std::vector<std::string> path, const CommandContext& context) {
    const HelpFormatter formatter(context);
    CommandNode node;
    node.path = std::move(path);
    node.about = command.get_description();
    node.footer = command.get_footer();
    const std::string name = "meshscope" + (node.path.empty() ? "" : " " + node.words());
    node.usage = formatter.make_usage(&command, name);
    node.usage = node.usage.substr(node.usage.find(name));
    while (!node.usage.empty() && (node.usage.back() == '\n' || node.usage.back() == ' '))
        node.usage.pop_back();
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_group().empty()) continue;  // hidden
        (option->get_positional() ? node.arguments : node.options).push_back(option_of(*option, formatter));
    }
    for (const CLI::App* child :
         command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
        std::vector<std::string> below = node.path;
        below.push_back(child->get_name());
        node.children.push_back(node_of(*child, std::move(below), context));
    }
    return node;
}

void collect(const CommandNode& node, std::vector<const CommandNode*>& all) {
    all.push_back(&node);
    for (const CommandNode& child : node.children) collect(child, all);
}

}  // namespace

std::string CommandNode::words() const {
    std::string words;
    for (const std::string& word : path) words += (words.empty() ? "" : " ") + word;
    return words;
}

CommandNode command_tree(const CLI::App& program, const CommandContext& context) {
    return node_of(program, {}, context);
}

std::vector<const CommandNode*> all_of(const CommandNode& node) {
    std::vector<const CommandNode*> all;
    collect(node, all);
    return all;
}

}  // namespace meshscope::cli
