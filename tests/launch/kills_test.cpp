// kill -9 of any rank at any time, over strategies and backends: the job goes on from its newest checkpoint
// and ends with the weights of a run that nobody disturbed, bit for bit.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

#include "core/base/random.h"
#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using program::content;
using program::Folder;

namespace {

struct Strategy {
    const char* name;
    const char* text;
    int ranks;
};

const std::vector<Strategy> kStrategies{
    {"ddp", "[mesh]\nshape = [3]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n", 3},
    {"zero1", "[mesh]\nshape = [3]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero1\"\n", 3},
    {"zero2", "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero2\"\n", 2},
    {"zero3", "[mesh]\nshape = [3]\nnames = [\"shard\"]\n[parallel]\ndata = \"zero3\"\n", 3},
    {"hsdp", "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n", 4},
    {"tp", "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\n", 2},
    {"pp", "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"1F1B\"\nmicrobatches = 4\n", 2}};

constexpr int kSteps = 400;

std::string text_of(const Strategy& strategy, const std::string& checkpoint) {
    return std::string(
               "format = 1\n[model]\nkind = \"mlp\"\ndim = 12\nhidden = 24\nlayers = 4\nseed = 7\n"
               "[data]\nseed = 3\n[train]\nsteps = ") +
           std::to_string(kSteps) +
           "\nglobal_batch = 24\n[record]\nlevel = \"collectives\"\n[optimizer]\nkind = \"adamw\"\nlr = "
           "0.01\n" +
           strategy.text + checkpoint;
}

std::string weights(const Folder& folder, const std::string& name) {
    return content(folder.file(name));
}

/// MESHSCOPE_KILLS says how many; the seed MESHSCOPE_KILL_SEED; MESHSCOPE_KILL_FIRST where to begin in its
/// sequence, to see one of them again.
int number_of(const char* variable, int otherwise) {
    const char* const text = std::getenv(variable);
    return text ? std::atoi(text) : otherwise;
}

}  // namespace

TEST_CASE("a rank that is killed at any time changes nothing in the weights that come out") {
    const int kills = number_of("MESHSCOPE_KILLS", mpi_backends().empty() ? 2 : 6),
              seed = number_of("MESHSCOPE_KILL_SEED", 1), first = number_of("MESHSCOPE_KILL_FIRST", 0);
    std::vector<std::string> unbroken(kStrategies.size());
    int hit = 0;
    for (int i = first; i < first + kills; ++i) {
        const std::size_t s = static_cast<std::size_t>(i) % kStrategies.size();
        const Strategy& strategy = kStrategies[s];
        // tcp every other time; the MPIs take turns.
        const std::vector<std::string> mpis = mpi_backends();
        const std::string backend =
            i % 2 == 0 || mpis.empty() ? "tcp" : mpis[static_cast<std::size_t>(i / 2) % mpis.size()];
        const Folder folder;
        if (unbroken[s].empty()) {
            const auto ended = program::run(
                {"run", folder.write("u.toml", text_of(strategy, "")), "-q", "--save", folder.file("u")});
            INFO(strategy.name << " " << ended.err);
            REQUIRE(ended.exit_code == 0);
            unbroken[s] = weights(folder, "u");
            REQUIRE(unbroken[s].size() > 500);
        }
        const auto draw = [&](uint64_t what, int most) {
            return static_cast<int>(meshscope::uniform_below(
                static_cast<uint64_t>(most), static_cast<uint64_t>(seed), what, static_cast<uint64_t>(i)));
        };
        const int rank = draw(1, strategy.ranks), delay_ms = draw(2, 1500);
        std::ostringstream which;
        which << "kill " << i << " seed " << seed << ": " << strategy.name << " over " << backend << ", rank "
              << rank << " after " << delay_ms << " ms";
        INFO(which.str());
        // Of many it can be seen which one is under way.
        if (std::getenv("MESHSCOPE_KILLS")) std::cout << which.str() << std::endl;
        const std::string scenario = folder.write(
            "s.toml",
            text_of(strategy, "[checkpoint]\nfolder = \"" + folder.file("c") + "\"\nevery = 40\nkeep = 2\n"));
        const std::string mark = folder.path.filename().string();
        Child job(
            {"run", scenario, "-q", "--backend", backend, "--max-restarts", "3", "--save", folder.file("w")},
            folder.file("out"), folder.file("err"), {"TEST_MARK=" + mark, kUnderMpi[0]});
        const std::string variable = backend == "tcp"           ? "RANK"
                                     : backend == "mpi-openmpi" ? "OMPI_COMM_WORLD_RANK"
                                                                : "PMI_RANK";
        std::vector<pid_t> victims;
        REQUIRE(within(30, [&] {
            victims = having({{"TEST_MARK", mark}, {variable, std::to_string(rank)}});
            return !victims.empty();
        }));
        std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
        bool killed = false;
        for (const pid_t victim : victims) killed = kill(victim, SIGKILL) == 0 || killed;
        const int code = job.wait(120);
        INFO(content(folder.file("err")));
        CHECK(code == 0);
        const bool same_weights = weights(folder, "w") == unbroken[s];  // a CHECK of them would print them
        CHECK(same_weights);
        hit += killed && content(folder.file("err")).find("restart 1") != std::string::npos;
        CHECK(within(2, [&] { return having({{"TEST_MARK", mark}}).empty(); }));
    }
    WARN(kills << " kills, " << hit << " of them in the middle of a run");
    CHECK(hit > 0);
}
