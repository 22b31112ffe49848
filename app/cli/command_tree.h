#pragma once

#include <string>
#include <vector>

#include "app/cli/command.h"

namespace meshscope::cli {

/// An option or an argument of a command, as its help tells it.
struct CommandOption {
    std::vector<std::string> names;   ///< "-o", "--out"; of an argument "FILE" alone
    std::string shown;                ///< names, type, default: "-o,--out FILE (required)"
    std::string about;                ///< may have several lines
    std::vector<std::string> values;  ///< all that it may be, where they are a set of words
    bool takes_value = false;
};

/// A command of this program and those below it.
struct CommandNode {
    std::vector<std::string> path;  ///< "trace", "query"; empty for the program itself
    std::string usage;              ///< "meshscope trace query [OPTIONS] FILE SQL"
    std::string about;              ///< one line
    std::string footer;             ///< notes and examples; "" for none
    std::vector<CommandOption> options;
    std::vector<CommandOption> arguments;
    std::vector<CommandNode> children;

    /// "trace query"; "" for the program itself.
    std::string words() const;
};

/// The program's commands as CLI11 knows them, with every text in the context's language. Hidden ones are not
/// in it.
CommandNode command_tree(const CLI::App& program, const CommandContext& context);

/// This and all below it, parents first; they live as long as `node`.
std::vector<const CommandNode*> all_of(const CommandNode& node);
std::vector<const CommandNode*> all_of(const CommandNode&& node) = delete;

}  // namespace meshscope::cli
