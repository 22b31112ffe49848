// What a person reads when something of theirs is wrong: how much of it, in which words, and that it can be
// used.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/progress.h"
#include "app/cli/table.h"
#include "app/i18n/error_text.h"
#include "core/base/shell_word.h"
#include "tests/cli/program.h"
#include "tests/cli/toy.h"
#include "tests/test.h"
#include "tests/tree.h"

namespace {

std::string shell_output(const std::string& command, const std::string& into) {
    CHECK(std::system((command + " > " + into + " 2>&1").c_str()) != -1);
    return program::content(into);
}

/// A scenario with so many keys that nobody knows.
std::string with_unknown_keys(int n) {
    std::string text = kToy + "[data]\n";
    for (int i = 0; i < n; ++i) text += "zzz" + std::to_string(i) + " = 1\n";
    return text;
}

}  // namespace

TEST_CASE("whoever closes standard output early ends a command in silence") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    REQUIRE(program::run({"run", scenario, "-q", "--trace", folder.file("t.mscope")}).exit_code == 0);
    const std::string meshscope = meshscope::shell_word(meshscope::test::bin_folder() + "/meshscope") + " ";
    for (const std::string& words :
         {std::string("--help"), std::string("run --help"), std::string("lesson list"),
          std::string("lesson run hsdp --no-input"), "run " + scenario, "run --backend tcp " + scenario,
          "trace query " + folder.file("t.mscope") + " 'SELECT * FROM hops a, hops b' --csv"}) {
        // The reader has gone before anything is written: it says so in a file that it makes afterwards.
        const std::string gone = meshscope::shell_word(folder.file("gone"));
        const std::string command = "rm -f " + gone + "; ( until [ -e " + gone + " ]; do sleep 0.01; done; " +
                                    meshscope + words + " 2>" + folder.file("err") + "; echo $? >" +
                                    folder.file("code") + " ) | ( exec <&-; touch " + gone + " )";
        CHECK(std::system(("bash -c " + meshscope::shell_word(command)).c_str()) == 0);
        INFO(words << '\n' << program::content(folder.file("err")));
        CHECK(program::content(folder.file("code")) == "141\n");
        CHECK(program::content(folder.file("err")).find("meshscope:") == std::string::npos);
    }
}

TEST_CASE("of very many mistakes the first are listed and the others counted, in words and as JSON") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", with_unknown_keys(20'000));
    const auto told = program::run({"run", scenario});
    CHECK(told.exit_code == 65);
    CHECK(told.err.size() < 20'000);
    CHECK(told.err.find("… and 19980 more mistakes, not listed") != std::string::npos);
    CHECK(told.err.find("--max-errors 0") != std::string::npos);
    const auto json = program::run({"run", scenario, "--json", "-"});
    CHECK(json.out.size() < 20'000);
    const auto errors = nlohmann::json::parse(json.out);
    CHECK(errors["errors"].size() == 20);
    CHECK(errors["more"] == 19'980);
    const auto all = program::run({"run", scenario, "--json", "-", "--max-errors", "0"});
    CHECK(nlohmann::json::parse(all.out)["errors"].size() == 20'000);
    CHECK(program::run({"run", folder.write("few.toml", with_unknown_keys(3))}).err.find(" more ") ==
          std::string::npos);
}

TEST_CASE("a number that an option does not take is told with what it does take, and in which unit") {
    const program::Folder folder;
    const std::string scenario = folder.write("s.toml", kToy);
    for (const std::string value : {"x", "", "0", "1e3", "99999999999999999999"}) {
        const auto ended = program::run({"run", scenario, "--timeout", value});
        CHECK(ended.exit_code == 2);
        CHECK(ended.err.starts_with("meshscope: --timeout cannot be \"" + value +
                                    "\": it takes a whole number from 1 to 86400 (seconds)\n"));
    }
    CHECK(
        program::run({"launch", "--rdzv-timeout", "soon", "--", "true"})
            .err.starts_with(
                "meshscope: --rdzv-timeout cannot be \"soon\": it takes a number from 0 to 86400 (seconds)"));
    CHECK(program::run({"sampler", "--world", "2", "--samples", "many"})
              .err.starts_with(
                  "meshscope: --samples cannot be \"many\": it takes a whole number from 1 to 1000000\n"));
}

TEST_CASE("the help names every exit code") {
    for (const char* language : {"en", "zh"}) {
        const std::string help = program::run({"--help", "--lang", language}).out;
        for (const int code : {0, 1, 2, 65, 69, 70, 71, 74, 75, 79, 124, 129, 130, 141, 143}) {
            const std::string number = std::to_string(code);
            INFO(language << ' ' << code << '\n' << help);
            CHECK(help.find("\n" + std::string(5 - number.size(), ' ') + number + "  ") != std::string::npos);
        }
    }
    std::vector<int> codes;
    for (const auto& each : meshscope::i18n::exit_codes()) codes.push_back(static_cast<int>(each.code));
    CHECK(std::ranges::is_sorted(codes));
}

TEST_CASE("the command that a hint proposes works where it is read, whatever the folder is called") {
    const program::Folder folder;
    std::filesystem::create_directory(folder.file("it's a run"));
    const std::string text = kToy + "[checkpoint]\nfolder = \"saved here\"\n";
    const std::string scenario = folder.write("it's a run/s.toml", text);
    REQUIRE(program::run({"run", scenario, "-q"}).exit_code == 0);
    // Two steps more are asked for: else nothing would be left to do, and no command proposed that does it.
    std::string more = text;
    more.replace(more.find("steps = 2"), 9, "steps = 4");
    folder.write("it's a run/s.toml", more);
    const auto refused = program::run({"run", scenario});
    CHECK(refused.exit_code == 65);
    const std::size_t begin = refused.err.find("--resume ");
    const std::size_t end = refused.err.find("); to start anew");
    INFO(refused.err);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    // From another folder, through a shell.
    const std::string command =
        "cd / && " + meshscope::shell_word(meshscope::test::bin_folder() + "/meshscope") + " run -q " +
        meshscope::shell_word(scenario) + " " + refused.err.substr(begin, end - begin) + "; echo code $?";
    CHECK(shell_output("( " + command + " )", folder.file("out")) == "code 0\n");
}

TEST_CASE("a word for the shell is quoted only where it must be") {
    CHECK(meshscope::shell_word("/tmp/a-b_c.1") == "/tmp/a-b_c.1");
    CHECK(meshscope::shell_word("") == "''");
    CHECK(meshscope::shell_word("a b") == "'a b'");
    CHECK(meshscope::shell_word("it's") == "'it'\\''s'");
    CHECK(meshscope::shell_word("$(x)") == "'$(x)'");
}

TEST_CASE("the progress of a run never fills a line of the terminal") {
    for (int columns : {10, 20, 40, 60, 80, 200})
        for (const std::string words :
             {"step 1999 of 2000, loss 0.693147", "第 1999 / 2000 步，loss 0.693147"}) {
            std::ostringstream shown;
            {
                meshscope::cli::ProgressBar bar(shown, true, [&] { return columns; });
                bar.show(2000, 2000, words);
            }
            std::string line = shown.str().substr(1);  // behind the first \r
            line = line.substr(0, line.find("\x1b[K"));
            INFO(columns << " " << line);
            CHECK(meshscope::cli::display_width(line) < columns);
            CHECK((columns < 60 || line.find(words) != std::string::npos));
            CHECK((columns < 60 || line.find('#') != std::string::npos));
        }
    std::ostringstream shown;
    meshscope::cli::ProgressBar(shown, true, [] {
        return 0;
    }).show(1, 2, "half");  // no terminal says how wide it is
    CHECK(shown.str().find("[###############...............] half") != std::string::npos);
}
