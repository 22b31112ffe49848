// The command line of `meshscope launch`: what it refuses before anything starts. What it does is
// tests/launch's.
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

TEST_CASE("launch refuses an option that was given nothing, and a command without a name") {
    for (const std::string option :
         {"--nodes", "--rdzv-endpoint", "--rdzv-id", "--bind", "--log-dir", "--report"})
        CHECK(refused({"launch", option, "", "--", "echo", "started"}).find(option + " has an empty value") !=
              std::string::npos);
    CHECK(refused({"launch", "--", ""}) == "meshscope: COMMAND is empty; name what is meant\n");
    CHECK(refused({"launch", "--lang", "zh", "--", "", "x"}).find("COMMAND 是空的") != std::string::npos);
    CHECK(program::run({"launch", "--no-prefix", "--", "echo", "a", "", "b"}).out == "a  b\n");
}
