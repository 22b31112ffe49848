// A run that is killed leaves its record, and `trace recover` makes a trace of it.
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/test.h"

using namespace processes;
using program::Folder;
namespace fs = std::filesystem;

namespace {

std::string scenario(int steps) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 8\nlayers = 2\nseed = 7\n[train]\nsteps "
           "= " +
           std::to_string(steps) +
           "\nglobal_batch = 8\n[optimizer]\nkind = \"sgd\"\nlr = 0.001\n[mesh]\nshape = [2]\n"
           "[parallel]\ndata = \"fsdp2\"\n";
}

nlohmann::json info(const std::string& trace) {
    const auto ended = program::run({"trace", "info", trace, "--json"});
    REQUIRE(ended.exit_code == 0);
    return nlohmann::json::parse(ended.out);
}

}  // namespace

TEST_CASE("what a killed run recorded can be recovered, whole steps only") {
    const std::string backend = GENERATE(as<std::string>(), "threads", "tcp");
    CAPTURE(backend);
    const Folder folder;
    const std::string trace = folder.file("t.mscope"), mark = folder.path.filename().string();
    {
        Child child({"run", folder.write("long.toml", scenario(200'000)), "-q", "--backend", backend,
                     "--trace", trace},
                    folder.file("out"), folder.file("err"), {"TEST_MARK=" + mark});
        std::error_code ignored;
        REQUIRE(within(60, [&] { return fs::file_size(trace + ".rank-1.part", ignored) + 1 > 200'000; }));
        for (const pid_t process : having({{"TEST_MARK", mark}})) kill(process, SIGKILL);
        child.send(SIGKILL);
        child.wait(20);
    }
    CHECK_FALSE(fs::exists(trace));
    const auto recovered = program::run({"trace", "recover", trace});
    CAPTURE(recovered.err);
    REQUIRE(recovered.exit_code == 0);
    const nlohmann::json killed = info(trace);
    const int steps = killed.at("steps");
    REQUIRE(steps > 1);
    // The same steps, undisturbed.
    const std::string other = folder.file("whole.mscope");
    REQUIRE(program::run({"run", folder.write("short.toml", scenario(steps)), "-q", "--trace", other})
                .exit_code == 0);
    CHECK(killed.at("losses") == info(other).at("losses"));
    CHECK_FALSE(fs::exists(other + ".rank-0.part"));  // a run that ended leaves none

    // Again: the trace is there now, and is not replaced unasked.
    const auto again = program::run({"trace", "recover", trace});
    CHECK(again.exit_code == 2);
    CHECK(program::run({"trace", "recover", trace, "-o", folder.file("b.mscope")}).exit_code == 0);
}

TEST_CASE("a run whose terminal is closed writes its trace, as one that is told to end does") {
    const std::string backend = GENERATE(as<std::string>(), "threads", "tcp");
    CAPTURE(backend);
    const Folder folder;
    const std::string trace = folder.file("t.mscope");
    Child child(
        {"run", folder.write("long.toml", scenario(200'000)), "-q", "--backend", backend, "--trace", trace},
        folder.file("out"), folder.file("err"), {});
    std::error_code ignored;
    REQUIRE(within(60, [&] { return fs::file_size(trace + ".rank-1.part", ignored) + 1 > 20'000; }));
    child.send(SIGHUP);
    child.send(SIGHUP);  // by the shell, and by the system
    CHECK(child.wait(20) == 128 + SIGHUP);
    CHECK(info(trace).at("steps") > 0);
}
