// A run whose ranks are processes is interrupted: its trace is written, by the ranks or in their place.
#include <csignal>
#include <filesystem>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using program::content;
using program::Folder;
namespace fs = std::filesystem;

namespace {

constexpr const char* kLong =
    "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 8\nlayers = 2\n[train]\nsteps = 200000\n"
    "global_batch = 8\n[optimizer]\nkind = \"sgd\"\nlr = 0.001\n[mesh]\nshape = [2]\n[parallel]\n"
    "data = \"ddp\"\n";

struct Interrupted {
    int exit_code = -1;
    bool has_trace = false, has_parts = false;
    std::string said;
};

/// Interrupts a run that has recorded something; `stopped`: its ranks do not run, and so cannot write.
Interrupted interrupt(const std::string& backend, bool stopped) {
    const Folder folder;
    const std::string trace = folder.file("t.mscope"), mark = folder.path.filename().string();
    std::vector<std::string> environment = kUnderMpi;
    environment.push_back("TEST_MARK=" + mark);
    Child run({"run", folder.write("long.toml", kLong), "--backend", backend, "--trace", trace},
              folder.file("out"), folder.file("err"), environment);
    const auto has_recorded = [&](int rank) {
        std::error_code ignored;
        return fs::file_size(trace + ".rank-" + std::to_string(rank) + ".part", ignored) + 1 > 50'000;
    };
    REQUIRE(within(60, [&] { return has_recorded(0) && has_recorded(1); }));
    if (stopped)
        for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
            for (const char* rank : {"0", "1"})
                for (const pid_t process : having({{"TEST_MARK", mark}, {variable, rank}}))
                    kill(process, SIGSTOP);
    run.send(SIGINT);
    Interrupted ended;
    ended.exit_code = run.wait(60);
    ended.said = content(folder.file("err"));
    ended.has_trace = program::run({"trace", "info", trace}).exit_code == 0;
    ended.has_parts = fs::exists(trace + ".rank-0.part") || fs::exists(trace + ".rank-1.part");
    CHECK(within(10, [&] { return having({{"TEST_MARK", mark}}).empty(); }));
    return ended;
}

std::vector<std::string> backends() {
    std::vector<std::string> all = mpi_backends();
    all.emplace_back("tcp");
    return all;
}

}  // namespace

TEST_CASE("ranks that are interrupted end their step, write the trace and say how far they came") {
    for (const std::string& backend : backends()) {
        const Interrupted ended = interrupt(backend, false);
        CAPTURE(backend, ended.said);
        CHECK(ended.exit_code == 130);
        CHECK(ended.has_trace);
        CHECK_FALSE(ended.has_parts);
        CHECK(ended.said.find("of 200000 steps") != std::string::npos);
    }
}

TEST_CASE("of ranks that are interrupted and cannot write, the trace is made of what they had recorded") {
    for (const std::string& backend : backends()) {
        const Interrupted ended = interrupt(backend, true);
        CAPTURE(backend, ended.said);
        CHECK(ended.exit_code == 130);
        CHECK(ended.has_trace);
        CHECK_FALSE(ended.has_parts);
        CHECK(ended.said.find("interrupted before the ranks could write the trace") != std::string::npos);
    }
}
