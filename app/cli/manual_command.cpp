#include "app/cli/manual_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/command_tree.h"
#include "app/cli/outputs.h"
#include "core/base/cannot_write.h"
#include "core/base/error.h"
#include "core/base/file_kind.h"
#include "core/base/replace_file.h"

namespace meshscope::cli {
namespace {

/// Text that troff sets as it is: a backslash and a leading dot or quote mean something to it, and "-" is a
/// hyphen that nobody can copy into a shell.
std::string plain(const std::string& text) {
    std::string out;
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
        at_start = c == '\n';
    }
    return out;
}

/// Headings of manual pages stand in capitals; Chinese has none.
std::string in_capitals(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

std::string page_name(const CommandNode& node) {
    std::string name = "meshscope";
    for (const std::string& word : node.path) name += "-" + word;
    return name;
}

void tell_options(std::ostream& out, const std::string& heading, const std::vector<CommandOption>& options) {
    if (options.empty()) return;
    out << ".SH " << plain(in_capitals(heading)) << '\n';
    for (const CommandOption& option : options)
        out << ".TP\n.B " << plain(option.shown) << '\n' << plain(option.about) << '\n';
}

bool is_heading(const std::string& line) {
    return line.ends_with(":") || line.ends_with("：");
}

/// Notes and examples: what is indented keeps its lines.
void tell_footer(std::ostream& out, const std::string& footer) {
    std::istringstream lines(footer);
    bool kept = false;
    for (std::string line; std::getline(lines, line);) {
        const bool indented = line.starts_with(" ");
        if (kept && !indented) out << ".fi\n.RE\n";
        if (!kept && indented) out << ".RS 4\n.nf\n";
        kept = indented;
        if (line.empty()) {
            out << ".PP\n";
        } else if (!indented && is_heading(line)) {
            line.erase(line.size() - (line.ends_with(":") ? 1 : std::string("：").size()));
            out << ".SH " << plain(in_capitals(line)) << '\n';
        } else {
            out << plain(line.substr(line.find_first_not_of(' '))) << '\n';
        }
    }
    if (kept) out << ".fi\n.RE\n";
}

std::string page_of(const CommandNode& node, const CommandContext& context) {
    std::ostringstream out;
    out << kManualMark << "\n.TH " << plain(in_capitals(page_name(node))) << " 1\n.SH "
        << context.text("cli.manual.name") << '\n'
        << plain(page_name(node)) << " \\- " << plain(node.about) << "\n.SH "
        << context.text("cli.manual.synopsis") << "\n.B " << plain(node.usage) << '\n';
    tell_options(out, context.text("cli.help.positionals"), node.arguments);
    if (!node.children.empty()) {
        out << ".SH " << in_capitals(context.text("cli.help.subcommands")) << '\n';
        for (const CommandNode& child : node.children)
            out << ".TP\n.BR " << plain(page_name(child)) << " (1)\n" << plain(child.about) << '\n';
    }
    tell_options(out, context.text("cli.help.options"), node.options);
    tell_footer(out, node.footer);
    if (!node.path.empty()) {
        CommandNode parent;
        parent.path.assign(node.path.begin(), node.path.end() - 1);
        out << ".SH " << context.text("cli.manual.see_also") << "\n.BR " << plain(page_name(parent))
            << " (1)\n";
    }
    return out.str();
}

}  // namespace

void add_manual_command(CLI::App& app, CommandContext& context) {
    CLI::App* sub = app.add_subcommand("manual", context.text("cli.manual.about"));
    sub->footer(context.text("cli.manual.examples"));
    struct Words {
        std::string folder;
        bool force = false;
    };
    const auto words = std::make_shared<Words>();
    sub->add_option("-o,--out", words->folder, context.text("cli.manual.out"))
        ->required()
        ->type_name("FOLDER");
    sub->add_flag("--force", words->force, context.text("cli.help.force"));
    sub->callback([words, &app, &context] {
        std::error_code error;
        std::filesystem::create_directories(words->folder, error);
        if (error) throw IoError(cannot_write(words->folder, error.value()));
        const CommandNode program = command_tree(app, context);
        std::vector<Output> pages;
        for (const CommandNode* node : all_of(program))
            pages.push_back({words->folder + "/" + page_name(*node) + ".1", FileKind::manual});
        check_outputs(pages, {}, words->force);  // all of them before the first is written
        std::size_t at = 0;
        for (const CommandNode* node : all_of(program))
            replace_file(pages[at++].path, page_of(*node, context));
    });
}

}  // namespace meshscope::cli
