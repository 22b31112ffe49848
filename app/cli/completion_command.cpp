#include "app/cli/completion_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/cli/command_tree.h"
#include "core/base/shell_word.h"

namespace meshscope::cli {
namespace {

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

std::string spaced(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string children_of(const CommandNode& node) {
    std::vector<std::string> names;
    for (const CommandNode& child : node.children) names.push_back(child.path.back());
    return spaced(names);
}

/// The program's own options are taken by each command too.
std::vector<CommandOption> options_of(const CommandNode& node, const CommandNode& program) {
    std::vector<CommandOption> all = node.options;
    if (node.path.empty()) return all;
    for (const CommandOption& option : program.options)
        if (option.takes_value || option.names.back() == "--no-color") all.push_back(option);
    return all;
}

/// What both Bash and Zsh need: the commands below a command, and the values of an option or of a command's
/// argument.
void shell_functions(std::ostream& out, const CommandNode& program) {
    out << "_meshscope_commands() {\n  case $1 in\n";
    for (const CommandNode* node : all_of(program))
        if (!node->children.empty())
            out << "    " << shell_word(node->words()) << ") echo " << shell_word(children_of(*node))
                << " ;;\n";
    out << "  esac\n}\n";
    out << "_meshscope_values() {\n  case \"$1 $2\" in\n";
    for (const CommandNode* node : all_of(program)) {
        for (const CommandOption& option : options_of(*node, program)) {
            if (option.values.empty()) continue;
            out << "    ";
            for (const std::string& name : option.names)
                out << (name == option.names.front() ? "" : "|") << shell_word(node->words() + " " + name);
            out << ") echo " << shell_word(spaced(option.values)) << " ;;\n";
        }
        for (const CommandOption& argument : node->arguments)
            if (!argument.values.empty())
                out << "    " << shell_word(node->words() + " ") << ") echo "
                    << shell_word(spaced(argument.values)) << " ;;\n";
    }
    out << "  esac\n}\n";
}

void tell_bash(std::ostream& out, const CommandNode& program) {
    out << "# Completion for Bash. Made by: meshscope completion bash\n";
    shell_functions(out, program);
    out << "_meshscope_options() {\n  case $1 in\n";
    for (const CommandNode* node : all_of(program)) {
        std::vector<std::string> names;
        for (const CommandOption& option : options_of(*node, program))
            names.insert(names.end(), option.names.begin(), option.names.end());
        out << "    " << shell_word(node->words()) << ") echo " << shell_word(spaced(names)) << " ;;\n";
    }
    out << R"SH(  esac
}
_meshscope() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} at='' i words=''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case " $(_meshscope_commands "$at") " in *" ${COMP_WORDS[i]} "*) at="${at:+$at }${COMP_WORDS[i]}" ;; esac
  done
  case $previous in
    -*) words=$(_meshscope_values "$at" "$previous") ;;
  esac
  if [ -z "$words" ]; then
    case $current in
      -*) words=$(_meshscope_options "$at") ;;
      *) words="$(_meshscope_commands "$at") $(_meshscope_values "$at" '')" ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _meshscope meshscope
)SH";
}

/// "name:what it does", as _describe takes it.
std::string described(const std::string& name, const std::string& about) {
    std::string text = name + ":";
    for (const char c : first_line(about)) {
        if (c == '\\' || c == ':') text += '\\';
        text += c;
    }
    return shell_word(text);
}

void tell_zsh(std::ostream& out, const CommandNode& program) {
    out << "#compdef meshscope\n# Completion for Zsh. Made by: meshscope completion zsh\n";
    shell_functions(out, program);
    out << "_meshscope() {\n  local at='' word values\n  local -a commands options\n"
           "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
           "    [[ \" $(_meshscope_commands \"$at\") \" == *\" $word \"* ]] && at=\"${at:+$at }$word\"\n  "
           "done\n"
           "  case $at in\n";
    for (const CommandNode* node : all_of(program)) {
        out << "    " << shell_word(node->words()) << ")\n      commands=(";
        for (const CommandNode& child : node->children)
            out << "\n        " << described(child.path.back(), child.about);
        out << ")\n      options=(";
        for (const CommandOption& option : options_of(*node, program))
            for (const std::string& name : option.names) out << "\n        " << described(name, option.about);
        out << ") ;;\n";
    }
    out << R"SH(  esac
  if [[ ${words[CURRENT-1]} == -* ]]; then
    values=$(_meshscope_values "$at" "${words[CURRENT-1]}")
    if [[ -n $values ]]; then compadd -- ${=values}; return; fi
  fi
  if [[ ${words[CURRENT]} == -* ]]; then _describe -o option options; return; fi
  values=$(_meshscope_values "$at" '')
  [[ -n $values ]] && compadd -- ${=values}
  if (( $#commands )); then _describe command commands; else _files; fi
}
if [[ $funcstack[1] == _meshscope ]]; then _meshscope "$@"; else compdef _meshscope meshscope; fi
)SH";
}

void tell_fish(std::ostream& out, const CommandNode& program) {
    out << "# Completion for fish. Made by: meshscope completion fish\n"
           "function __meshscope_commands\n  switch \"$argv\"\n";
    for (const CommandNode* node : all_of(program))
        if (!node->children.empty())
            out << "    case " << shell_word(node->words()) << "\n      string split ' ' "
                << shell_word(children_of(*node)) << '\n';
    out << "  end\nend\n"
           "function __meshscope_at\n  set -l at\n  for word in (commandline -opc)[2..]\n"
           "    contains -- $word (__meshscope_commands \"$at\"); and set at $at $word\n  end\n"
           "  test \"$at\" = \"$argv\"\nend\n";
    for (const CommandNode* node : all_of(program)) {
        const std::string here = "complete -c meshscope -n " + shell_word("__meshscope_at " + node->words());
        for (const CommandNode& child : node->children)
            out << here << " -f -a " << child.path.back() << " -d " << shell_word(first_line(child.about))
                << '\n';
        for (const CommandOption& argument : node->arguments)
            if (!argument.values.empty())
                out << here << " -f -a " << shell_word(spaced(argument.values)) << " -d "
                    << shell_word(first_line(argument.about)) << '\n';
        for (const CommandOption& option : options_of(*node, program)) {
            out << here;
            for (const std::string& name : option.names)
                out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
            if (!option.values.empty()) {
                out << " -x -a " << shell_word(spaced(option.values));
            } else if (option.takes_value) {
                out << " -r";
            }
            out << " -d " << shell_word(first_line(option.about)) << '\n';
        }
    }
}

}  // namespace

void add_completion_command(CLI::App& app, CommandContext& context) {
    CLI::App* sub = app.add_subcommand("completion", context.text("cli.completion.about"));
    sub->footer(context.text("cli.completion.examples"));
    const auto shell = std::make_shared<std::string>();
    sub->add_option("SHELL", *shell, context.text("cli.completion.shell"))
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->type_name("bash|zsh|fish");
    sub->callback([shell, &app, &context] {
        const CommandNode program = command_tree(app, context);
        if (*shell == "bash") tell_bash(context.out, program);
        if (*shell == "zsh") tell_zsh(context.out, program);
        if (*shell == "fish") tell_fish(context.out, program);
    });
}

}  // namespace meshscope::cli
