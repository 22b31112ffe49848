// Faults belong to a restart round: a job that is started again recovers from what hit its first start.
#include <filesystem>
#include <string>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"
#include "tests/tree.h"

using program::content;
using program::Folder;

namespace {

std::string scenario(const std::string& checkpoints, const std::string& faults) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\nseed = 3\n[train]\nsteps = "
           "8\n"
           "global_batch = 4\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n" +
           (checkpoints.empty() ? "" : "[checkpoint]\nfolder = \"" + checkpoints + "\"\nevery = 2\n") +
           faults;
}

std::string kill_at(int step, const std::string& round = "") {
    return "[[faults]]\nkind = \"kill\"\nrank = 1\nstep = " + std::to_string(step) + "\n" +
           (round.empty() ? "" : "round = " + round + "\n");
}

program::Ended launched(const Folder& folder, const std::string& faults, const std::string& weights) {
    const std::string file = folder.write("s.toml", scenario(folder.file("checkpoints"), faults));
    return program::run({"launch", "-n", "2", "--max-restarts", "3", "--",
                         meshscope::test::bin_folder() + "/meshscope", "run", file, "--save", weights});
}

}  // namespace

TEST_CASE("a rank that a fault kills is not killed again after the restart, and training recovers") {
    const Folder folder;
    const std::string weights = folder.file("w.safetensors"), undisturbed = folder.file("u.safetensors");
    const auto ended = launched(folder, kill_at(5), weights);
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(ended.err.find("restart 1 of at most 3") != std::string::npos);
    CHECK(ended.err.find("restart 2 of at most 3") == std::string::npos);
    REQUIRE(program::run({"run", folder.write("u.toml", scenario("", "")), "-q", "--save", undisturbed})
                .exit_code == 0);
    const bool same_weights = content(weights) == content(undisturbed);
    CHECK(same_weights);
}

TEST_CASE("a fault of another round waits for it, and one of every round ends each") {
    const Folder folder;
    const auto twice = launched(folder, kill_at(3) + kill_at(5, "1"), folder.file("w"));
    INFO(twice.err);
    CHECK(twice.exit_code == 0);
    CHECK(twice.err.find("restart 2 of at most 3") != std::string::npos);
    CHECK(twice.err.find("restart 3 of at most 3") == std::string::npos);
    const Folder other;
    const auto always = launched(other, kill_at(5, "\"every\""), other.file("w"));
    CHECK(always.exit_code == 137);
    CHECK(always.err.find("restart 3 of at most 3") != std::string::npos);
}

TEST_CASE("a fault of a later round does not come in a run that nobody restarts, and is not asked for") {
    const Folder folder;
    const std::string file = folder.write("s.toml", scenario("", kill_at(3, "1")));
    CHECK(program::run({"run", file, "-q"}).exit_code == 0);
    const auto wrong =
        program::run({"run", folder.write("w.toml", scenario("", kill_at(3, "\"sometimes\""))), "-q"});
    CHECK(wrong.exit_code == 65);
    CHECK(wrong.err.find("faults.round") != std::string::npos);
}
