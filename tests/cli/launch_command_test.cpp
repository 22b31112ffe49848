// The command line of `meshscope launch`: what it refuses before anything starts. What it does is
// tests/launch's.
#include <filesystem>

#include "tests/cli/program.h"
#include "tests/test.h"

namespace {

/// What is said of a command line that is refused as such; nothing was started.
std::string refused(const std::vector<std::string>& words) {
    const auto ended = program::run(words);
    INFO(ended.err);
    CHECK(ended.exit_code == 2);
    CHECK(ended.out.empty());
    return ended.err;
}

}  // namespace

TEST_CASE("a node that is not the first is told that it needs the meeting point, whatever --nodes says") {
    for (const std::vector<std::string>& options : {std::vector<std::string>{"--node-rank", "1"},
                                                    {"--nodes", "2"},
                                                    {"--nodes", "2", "--node-rank", "1"}}) {
        std::vector<std::string> words{"launch"};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", "echo", "started"});
        CHECK(refused(words).find("need a meeting point that all can reach: --rdzv-endpoint HOST:PORT") !=
              std::string::npos);
    }
    CHECK(program::run({"launch", "--node-rank", "0", "--", "true"}).exit_code == 0);
}

TEST_CASE(
    "a report that cannot be written is told before anything starts, and afterwards keeps the job's code") {
    const program::Folder folder;
    for (const std::string& place : {std::string("/dev/full"), folder.file("none/r.json"), folder.file("")}) {
        const auto ended = program::run({"launch", "--report", place, "--", "touch", folder.file("started")});
        INFO(ended.err);
        CHECK(ended.exit_code == 74);
        CHECK(ended.err.find(place) != std::string::npos);
    }
    CHECK(folder.files() == 0);
    std::filesystem::create_directory(folder.file("d"));
    const std::string report = folder.file("d/r.json");
    const auto lost = program::run(
        {"launch", "--report", report, "--", "sh", "-c", "rm -r " + folder.file("d") + "; exit 3"});
    INFO(lost.err);
    CHECK(lost.exit_code == 3);
    CHECK(lost.err.find("rank 0 (node 0) failed first, exit code 3") != std::string::npos);
    CHECK(lost.err.find("meshscope: " + report + " could not be written: No such file or directory") !=
          std::string::npos);
}

TEST_CASE("launch refuses an option that was given nothing, and a command without a name") {
    for (const std::string option :
         {"--nodes", "--rdzv-endpoint", "--rdzv-id", "--bind", "--log-dir", "--report"})
        CHECK(refused({"launch", option, "", "--", "echo", "started"}).find(option + " has an empty value") !=
              std::string::npos);
    CHECK(refused({"launch", "--", ""}) == "meshscope: COMMAND is empty\n");
    CHECK(refused({"launch", "--lang", "zh", "--", "", "x"}).find("COMMAND 是空的") != std::string::npos);
    CHECK(program::run({"launch", "--no-prefix", "--", "echo", "a", "", "b"}).out == "a  b\n");
}
