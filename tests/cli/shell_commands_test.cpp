// What the help becomes for a shell: completions and manual pages.
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace {

using program::content;
using program::Folder;

/// The first words of the lines under "Subcommands:" of a help.
std::vector<std::string> commands_of(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help.substr(help.find("\nSubcommands:\n") + 14));
    for (std::string line; std::getline(lines, line) && !line.empty();)
        if (line.starts_with("  ") && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    return names;
}

/// What Bash offers at the end of `words`, sorted, by the script that `completion bash` prints.
std::set<std::string> offered(const Folder& folder, const std::string& script, const std::string& words) {
    const std::string driver =
        folder.write("driver.sh", "source '" + script + "'\nCOMP_WORDS=(" + words +
                                      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_meshscope\n"
                                      "printf '%s\\n' \"${COMPREPLY[@]}\" >'" +
                                      folder.file("offered") + "'\n");
    REQUIRE(std::system(("bash -eu '" + driver + "'").c_str()) == 0);
    std::set<std::string> all;
    std::istringstream lines(content(folder.file("offered")));
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) all.insert(line);
    return all;
}

}  // namespace

TEST_CASE("Bash completes commands, their options and the values that these may have") {
    const Folder folder;
    const std::string script = folder.file("script");
    program::How to_script;
    to_script.out_file = script;
    REQUIRE(program::run({"completion", "bash"}, to_script).exit_code == 0);

    const auto commands = commands_of(program::run({"--help"}).out);
    REQUIRE(commands.size() > 10);
    CHECK(offered(folder, script, "meshscope ''") == std::set<std::string>(commands.begin(), commands.end()));
    CHECK(offered(folder, script, "meshscope trace que") == std::set<std::string>{"query"});
    CHECK(offered(folder, script, "meshscope --lang zh les") == std::set<std::string>{"lesson"});
    CHECK(offered(folder, script, "meshscope run --level ''") ==
          std::set<std::string>{"off", "collectives", "hops", "values"});
    CHECK(offered(folder, script, "meshscope completion ''") == std::set<std::string>{"bash", "fish", "zsh"});
    CHECK(offered(folder, script, "meshscope trace query --cs") == std::set<std::string>{"--csv"});
    CHECK(offered(folder, script, "meshscope trace query --max") == std::set<std::string>{"--max-errors"});
    CHECK(offered(folder, script, "meshscope run sc").empty());  // a file: Bash's own completion
}

TEST_CASE("the scripts for Zsh and fish name every command with what it does") {
    const auto commands = commands_of(program::run({"--help"}).out);
    for (const std::string shell : {"zsh", "fish"}) {
        const auto script = program::run({"completion", shell});
        INFO(shell);
        CHECK(script.exit_code == 0);
        for (const std::string& command : commands) {
            INFO(command);
            CHECK(script.out.find(shell == "zsh" ? command + ":" : " -a " + command + " -d ") !=
                  std::string::npos);
        }
    }
    const auto other = program::run({"completion", "tcsh"});
    CHECK(other.exit_code == 2);
    CHECK(other.err.find("bash") != std::string::npos);
}

TEST_CASE("each command has a manual page, in either language, which its parent's page names") {
    const Folder folder;
    for (const std::string language : {"en", "zh"}) {
        const std::string pages = folder.file(language + "/man1");
        REQUIRE(program::run({"--lang", language, "manual", "-o", pages}).exit_code == 0);
        const std::string first = content(pages + "/meshscope.1");
        for (const std::string& command : commands_of(program::run({"--help"}).out)) {
            INFO(language << " " << command);
            const std::string page = content(pages + "/meshscope-" + command + ".1");
            CHECK(page.starts_with(".\\\" meshscope manual\n.TH MESHSCOPE"));
            CHECK(first.find(".BR meshscope\\-" + command + " (1)") != std::string::npos);
        }
        const std::string query = content(pages + "/meshscope-trace-query.1");
        CHECK(query.find(language == "en" ? ".SH SYNOPSIS" : ".SH 概要") != std::string::npos);
        CHECK(query.find("\\-\\-csv") != std::string::npos);  // which can be copied into a shell
        CHECK(query.find(".BR meshscope\\-trace (1)") != std::string::npos);
    }
    const auto nowhere = program::run({"manual", "-o", "/proc/none"});
    CHECK(nowhere.exit_code == 74);
    CHECK(nowhere.err.find("/proc/none") != std::string::npos);
}

TEST_CASE("a manual page of somebody else is replaced only when that is asked for, and then none before it") {
    const Folder folder;
    const std::string pages = folder.file("man1");
    REQUIRE(program::run({"manual", "-o", pages}).exit_code == 0);
    CHECK(program::run({"manual", "-o", pages}).exit_code == 0);  // our own
    const std::string run = folder.write("man1/meshscope-run.1", ".TH RUN 1\n");
    const std::string first = folder.write("man1/meshscope.1", ".\\\" meshscope manual\nold\n");
    const auto refused = program::run({"manual", "-o", pages});
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("meshscope-run.1") != std::string::npos);
    CHECK(content(run) == ".TH RUN 1\n");
    CHECK(content(first) == ".\\\" meshscope manual\nold\n");
    CHECK(program::run({"manual", "--force", "-o", pages}).exit_code == 0);
    CHECK(content(run).find(".SH SYNOPSIS") != std::string::npos);
}
