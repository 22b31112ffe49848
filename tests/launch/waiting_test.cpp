// Whoever waits for others to meet stops at the first signal.
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using program::content;
using program::Folder;

namespace {

constexpr const char* kScenario =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 3\n"
    "global_batch = 6\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n";

/// What a program said that was told to stop while it waited.
std::string stopped(const std::vector<std::string>& words, int signal,
                    const std::vector<std::string>& environment = {}) {
    const Folder folder;
    Child waits(words, folder.file("out"), folder.file("err"), environment);
    std::this_thread::sleep_for(std::chrono::seconds(1));  // nothing shows that it waits
    waits.send(signal);
    CHECK(waits.wait(30) == 128 + signal);  // it would wait for a minute
    return content(folder.file("err"));
}

std::vector<std::string> place(int rank) {
    return {"RANK=" + std::to_string(rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=1"};
}

}  // namespace

TEST_CASE("ranks whose peers never come stop at the first signal") {
    const Folder folder;
    const std::string scenario = folder.write("s.toml", kScenario);
    for (const int signal : {SIGINT, SIGTERM}) {
        // Nobody serves a store at port 1.
        const std::string alone =
            stopped({"run", scenario, "--init-method", "tcp://127.0.0.1:1"}, signal, place(1));
        INFO(alone);
        CHECK(alone.find("stopped while 127.0.0.1:1 was waited for") != std::string::npos);
        // Rank 0 waits to be called, rank 1 for somebody to call.
        for (const int rank : {0, 1}) {
            const std::string met = folder.file("meeting" + std::to_string(rank)),
                              said = stopped({"run", scenario, "--init-method", "file://" + met}, signal,
                                             place(rank));
            INFO(said);
            CHECK(said.find("rank " + std::to_string(rank) +
                            " was stopped while it waited for other ranks") != std::string::npos);
        }
    }
}

TEST_CASE("a node without its leader stops at the first signal") {
    for (const int signal : {SIGINT, SIGTERM}) {
        const std::string said = stopped(
            {"launch", "--nodes", "2", "--node-rank", "1", "--rdzv-endpoint", "127.0.0.1:1", "--", "true"},
            signal);
        INFO(said);
        CHECK(said.find("stopped while 127.0.0.1:1 was waited for") != std::string::npos);
    }
}

TEST_CASE("a rank 0 that does not listen where the ranks are to meet says so at once") {
    const Folder folder;
    // It listens on 127.0.0.1 alone, and all of 127.0.0.0/8 is this machine.
    Child rank({"run", folder.write("s.toml", kScenario), "--init-method", "tcp://127.0.0.2:0"},
               folder.file("out"), folder.file("err"), place(0));
    CHECK(rank.wait(30) == 65);
    const std::string said = content(folder.file("err"));
    INFO(said);
    CHECK(said.find("does not reach itself at tcp://127.0.0.2:0, since it listens on 127.0.0.1") !=
          std::string::npos);
}
