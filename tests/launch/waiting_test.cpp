// Whoever waits for others to meet stops at the first signal.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/cli/program.h"
#include "tests/held_port.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using meshscope::test::HeldPort;
using program::content;
using program::Folder;

namespace {

constexpr const char* kScenario =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 3\n"
    "global_batch = 6\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n";

constexpr const char* kFour =
    "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 1\nglobal_batch = 8\n[mesh]\nshape = [4]\n"
    "[parallel]\ndata = \"ddp\"\n";

/// A file's text, lists without their brackets.
std::string plain(const std::string& file) {
    std::string text = content(file);
    std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
    return text;
}

/// The seconds of the first " has waited 3.1 s" in a text; -1 where there is none.
double first_wait(const std::string& text) {
    const std::string words = " has waited ";
    const std::size_t at = text.find(words);
    return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + words.size(), nullptr);
}

/// What a program said that was told to stop while it waited.
std::string stopped(const std::vector<std::string>& words, int signal,
                    const std::vector<std::string>& environment = {}) {
    const Folder folder;
    Child waits(words, folder.file("out"), folder.file("err"), environment);
    CHECK(program::await_handler(waits.pid(), signal));
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
        CHECK(alone.find("interrupted while connecting to the rendezvous at 127.0.0.1:1") !=
              std::string::npos);
        // Rank 0 waits to be called, rank 1 for somebody to call.
        for (const int rank : {0, 1}) {
            const std::string met = folder.file("meeting" + std::to_string(rank)),
                              said = stopped({"run", scenario, "--init-method", "file://" + met}, signal,
                                             place(rank));
            INFO(said);
            CHECK(said.find("rank " + std::to_string(rank) +
                            " was interrupted while waiting for the other ranks") != std::string::npos);
        }
    }
}

TEST_CASE("a rank that alone is told to stop leaves the run, which says so on every rank") {
    const Folder folder;
    std::string text = kScenario;
    text.replace(text.find("steps = 3"), 9, "steps = 2000000");
    text += "[checkpoint]\nfolder = \"" + folder.file("saved") + "\"\nevery = 200\nkeep = 1\n";
    const std::string scenario = folder.write("long.toml", text);
    const HeldPort port;
    std::vector<std::unique_ptr<Child>> ranks;
    for (const int rank : {0, 1}) {
        const std::string number = std::to_string(rank);
        ranks.push_back(std::make_unique<Child>(
            std::vector<std::string>{"run", scenario, "--level", "off"}, folder.file("out" + number),
            folder.file("err" + number),
            std::vector<std::string>{"RANK=" + number, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=" + port.text()}));
    }
    CHECK(within(120, [&] { return std::filesystem::exists(folder.file("saved")); }));  // they train
    ranks[1]->send(SIGTERM);
    for (const auto& rank : ranks) CHECK(rank->wait(120) != 0);
    INFO(content(folder.file("err0")) << content(folder.file("err1")));
    CHECK(content(folder.file("err1")).find("rank 1 was told to stop") != std::string::npos);
    CHECK(content(folder.file("err0")).find("rank 1") != std::string::npos);
}

TEST_CASE("ranks that wait at different addresses both say within seconds where, and for whom") {
    const Folder folder;
    const std::string scenario = folder.write("s.toml", kScenario);
    const auto at = [](int rank, const std::string& port) {
        return std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
                                        "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port};
    };
    const HeldPort held_first, held_second;
    const std::string first = held_first.text(), second = held_second.text();
    Child serves({"run", scenario}, folder.file("out0"), folder.file("err0"), at(0, first)),
        calls({"run", scenario}, folder.file("out1"), folder.file("err1"), at(1, second));
    const auto says = [&](const char* file, const std::string& words) {
        const bool said =
            within(60, [&] { return plain(folder.file(file)).find(words) != std::string::npos; });
        INFO(content(folder.file(file)));
        CHECK(said);
        return content(folder.file(file));
    };
    CHECK(says("err0", "missing: 1").find("tcp://127.0.0.1:" + first) != std::string::npos);
    CHECK(says("err1", "for rank 0").find("127.0.0.1:" + second) != std::string::npos);
    // After three seconds, later on a machine that is busy, and long before the time-out of 300 is over.
    for (const char* file : {"err0", "err1"}) {
        const double waited = first_wait(content(folder.file(file)));
        CHECK(waited >= 3);
        CHECK(waited < 60);
    }
    for (const Child* child : {&serves, &calls}) child->send(SIGTERM);
}

TEST_CASE("every rank that waits names all that are missing") {
    const Folder folder;
    const HeldPort port;
    std::vector<std::unique_ptr<Child>> ranks;
    for (const int rank : {0, 2})
        ranks.push_back(std::make_unique<Child>(
            std::vector<std::string>{"run", folder.write("four.toml", kFour)},
            folder.file("out" + std::to_string(rank)), folder.file("err" + std::to_string(rank)),
            std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=" + port.text()}));
    for (const char* file : {"err0", "err2"}) {
        const bool said =
            within(60, [&] { return plain(folder.file(file)).find("missing: 1, 3.") != std::string::npos; });
        INFO(content(folder.file(file)));
        CHECK(said);
    }
    for (const auto& rank : ranks) rank->send(SIGTERM);
}

TEST_CASE("an environment that says half of where a process stands is refused at once") {
    const Folder folder;
    const std::string scenario = folder.write("s.toml", kScenario);
    const auto refused = [&](const std::vector<std::string>& environment) {
        const program::Ended ended = program::run({"run", scenario}, {.environment = environment});
        CHECK(ended.exit_code == 65);
        return ended.err;
    };
    CHECK(refused({"RANK=0"}).find("RANK but not WORLD_SIZE") != std::string::npos);
    CHECK(refused({"RANK=0", "WORLD_SIZE=2"}).find("MASTER_ADDR") != std::string::npos);
    CHECK(refused({"RANK=x", "WORLD_SIZE=2"}).find("RANK must be a non-negative integer, got 'x'") !=
          std::string::npos);
    const std::vector<std::string> at{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=29613"};
    CHECK(refused({"RANK=2", "WORLD_SIZE=2", at[0], at[1]}).find("RANK=2 of WORLD_SIZE=2") !=
          std::string::npos);
}

TEST_CASE("a node without its leader stops at the first signal") {
    for (const int signal : {SIGINT, SIGTERM}) {
        const std::string said = stopped(
            {"launch", "--nodes", "2", "--node-rank", "1", "--rdzv-endpoint", "127.0.0.1:1", "--", "true"},
            signal);
        INFO(said);
        CHECK(said.find("interrupted while connecting to the rendezvous at 127.0.0.1:1") !=
              std::string::npos);
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
