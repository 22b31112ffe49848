// Golden runs in processes of their own: over tcp and both MPIs, bit for bit what threads give.
#include <chrono>
#include <cstdlib>
#include <regex>

#include "core/trace/store.h"
#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/patience.h"
#include "tests/run/golden_case.h"
#include "tests/run/same_record.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace meshscope;
using program::content;
using program::Folder;

namespace {

/// MESHSCOPE_PROCESS_CASES=1000: all of them; a handful otherwise, each another strategy.
std::vector<std::string> cases() {
    const char* const wish = std::getenv("MESHSCOPE_PROCESS_CASES");
    const auto most = static_cast<std::size_t>(wish ? std::atoi(wish) : 5);
    std::vector<std::string> all{"mlp_hsdp2x2_clip", "gpt_fsdp2_tp2", "mlp_pp4_1f1b", "gpt_ddp2",
                                 "mlp_zero1_2"};
    for (const auto* names : {&golden::names(), &golden::unordered_names()})
        for (const std::string& name : *names)
            if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    if (all.size() > most) all.resize(most);
    return all;
}

struct Made {
    int exit_code = -1;
    std::string err, weights;
    nlohmann::json json;  ///< without the backend's name and the time it took
    trace::Trace trace;
};

Made train(const Folder& folder, const std::string& scenario, const std::string& backend) {
    const auto file = [&](const char* name) { return folder.file(backend + name); };
    program::How how;
    if (backend.starts_with("mpi")) how.environment = processes::kUnderMpi;
    const auto ended = program::run({"run", scenario, "--backend", backend, "-q", "--json", file(".json"),
                                     "--save", file(".safetensors"), "--trace", file(".mscope")},
                                    how);
    Made made{ended.exit_code, ended.err, content(file(".safetensors")), {}, {}};
    if (ended.exit_code != 0) return made;
    made.trace = trace::read_trace(file(".mscope"));
    made.json = nlohmann::json::parse(content(file(".json")));
    CHECK(made.json["backend"] == backend);
    made.json.erase("backend");
    made.json.erase("wall_ns");
    return made;
}

/// Four ranks of DDP, rank 1 of which does something else in the backward of step 1.
std::string with_fault(const std::string& kind) {
    return "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 4\nglobal_batch = 8\n[mesh]\nshape = [4]\n"
           "[parallel]\ndata = \"ddp\"\n[[faults]]\nkind = \"" +
           kind + "\"\nrank = 1\nstep = 1\nphase = \"backward\"\nat = 0\n";
}

std::vector<std::string> process_backends() {
    std::vector<std::string> backends = processes::mpi_backends();
    backends.emplace_back("tcp");
    return backends;
}

}  // namespace

TEST_CASE("golden runs over tcp and both MPIs are those of threads, bit for bit") {
    test::Sample sample(3);
    for (const std::string& name : cases()) {
        if (!sample.takes()) continue;
        const Folder folder;
        const std::string scenario =
            folder.write("s.toml", golden::scenario_text(golden::read_case(name), name));
        const Made threads = train(folder, scenario, "threads");
        REQUIRE(threads.exit_code == 0);
        REQUIRE(threads.json["collectives"].size() > 10);
        for (const std::string& backend : process_backends()) {
            const Made made = train(folder, scenario, backend);
            INFO(name << " " << backend << " " << made.err);
            REQUIRE(made.exit_code == 0);
            CHECK(made.json == threads.json);
            CHECK(made.weights == threads.weights);
            CHECK(test::first_difference(made.trace, threads.trace) == "");
        }
    }
}

TEST_CASE(
    "MPI's own collectives train to the same losses but for the last digits, each one span without hops") {
    const std::string name = "gpt_fsdp2_tp2";
    const Folder folder;
    const std::string text = golden::scenario_text(golden::read_case(name), name);
    const Made own = train(folder, folder.write("own.toml", text), "threads");
    const std::string native_text = text + "algorithm = \"native\"\n";
    for (const std::string& backend : processes::mpi_backends()) {
        const Made made = train(folder, folder.write("native.toml", native_text), backend);
        INFO(made.err);
        REQUIRE(made.exit_code == 0);
        REQUIRE(made.trace.info.losses.size() == own.trace.info.losses.size());
        for (std::size_t s = 0; s < own.trace.info.losses.size(); ++s)
            CHECK(made.trace.info.losses[s] == Approx(own.trace.info.losses[s]).epsilon(2e-5));
        int64_t native = 0;
        for (const trace::RankTrace& rank : made.trace.ranks) {
            CHECK(rank.hops.empty());
            for (const trace::Event& e : rank.events) native += e.algorithm == Algorithm::native;
        }
        CHECK(native > 20);
    }
    const Made threads = train(folder, folder.write("native.toml", native_text), "threads");
    CHECK(threads.exit_code == 65);
    CHECK(threads.err.find("native") != std::string::npos);
}

TEST_CASE("a run inside a launcher joins it, and rank 0 alone writes and speaks") {
    const Folder folder;
    const std::string scenario =
        folder.write("s.toml", golden::scenario_text(golden::read_case("toy_ddp4"), "toy_ddp4"));
    const auto ended =
        program::run({"launch", "-n", "4", "--", test::bin_folder() + "/meshscope", "run", scenario});
    CHECK(ended.exit_code == 0);
    CHECK(ended.out.find("[0]: ") != std::string::npos);
    CHECK(ended.out.find("[1]: ") == std::string::npos);
    CHECK(ended.err ==
          "[0]: 4 processes, ranks taken from the environment variables of meshscope launch; backend tcp\n");
    const auto wrong =
        program::run({"launch", "-n", "2", "--", test::bin_folder() + "/meshscope", "run", scenario});
    CHECK(wrong.exit_code == 65);
    CHECK(wrong.err.find("meshscope launch started 2 processes, but this needs 4 ranks") !=
          std::string::npos);
    const auto threads = program::run({"launch", "-n", "4", "--", test::bin_folder() + "/meshscope", "run",
                                       "--backend", "threads", scenario});
    CHECK(threads.exit_code == 2);
}

TEST_CASE("a mistake is told once, as a run of threads tells it") {
    const Folder folder;
    const std::string scenario =
        folder.write("s.toml", golden::scenario_text(golden::read_case("toy_ddp4"), "toy_ddp4"));
    const auto threads = program::run({"run", scenario, "--resume", folder.file("none"), "-q"});
    CHECK(threads.exit_code == 74);
    program::How how;
    how.environment = processes::kUnderMpi;
    for (const std::string& backend : process_backends()) {
        const auto ended =
            program::run({"run", scenario, "--resume", folder.file("none"), "-q", "--backend", backend}, how);
        INFO(ended.err);
        CHECK(ended.exit_code == threads.exit_code);
        if (backend == "tcp") CHECK(ended.err == threads.err);
        CHECK(ended.err.find(threads.err) != std::string::npos);
    }
}

// Rank 1 waits for rank 0's word about the next step while the others wait for rank 1: only because each says
// that it has made its calls can they know.
TEST_CASE("between processes a call left out, or made once more, is told in its own step") {
    const Folder folder;
    program::How how;
    how.environment = processes::kUnderMpi;
    for (const std::string& backend : process_backends())
        for (const std::string kind : {"skip", "repeat"}) {
            const auto begin = std::chrono::steady_clock::now();
            const auto ended = program::run(
                {"run", folder.write("s.toml", with_fault(kind)), "-q", "--backend", backend}, how);
            INFO(backend << ", " << kind << ": " << ended.err);
            CHECK(ended.exit_code == 1);
            CHECK(ended.err.find("without making the call") != std::string::npos);
            CHECK(ended.err.find("all_reduce(sum, float32, in 165, out 165) #") != std::string::npos);
            CHECK(ended.err.find("step 1 backward") != std::string::npos);
            CHECK(std::chrono::steady_clock::now() - begin < test::kGuard);
        }
}

// What threads know of all waits each process knows of its own, and says of it the same.
TEST_CASE("between processes a message that was never received, or never sent, is told as that") {
    const Folder folder;
    program::How how;
    how.environment = processes::kUnderMpi;
    const auto scenario = [&](int ranks, const std::string& calls) {
        return folder.write("s.toml",
                            "format = 1\n[mesh]\nshape = [" + std::to_string(ranks) + "]\n" + calls);
    };
    const std::string recv = "[[call]]\nop = \"recv\"\nelements = 4\n";
    std::vector<std::string> backends = process_backends();
    backends.emplace_back("threads");
    for (const std::string& backend : backends) {
        const auto eager = program::run(
            {"run",
             scenario(3,
                      "[[call]]\nop = \"send\"\neager = true\nelements = 4\nsrc = 0\ndst = 1\n[[call]]\n"
                      "op = \"all_reduce\"\nelements = 4\n"),
             "-q", "--backend", backend},
            how);
        INFO(backend << ": " << eager.err);
        CHECK(eager.exit_code == 1);
        CHECK(
            eager.err.find("the message of rank 0 to rank 1 was never received: send(to 1, float32, in 4") !=
            std::string::npos);
        CHECK(eager.err.find("waits for rank") == std::string::npos);
        const auto two =
            program::run({"run", scenario(4, recv + "src = 0\ndst = 1\n" + recv + "src = 2\ndst = 3\n"), "-q",
                          "--backend", backend},
                         how);
        INFO(two.err);
        CHECK(two.exit_code == 1);
        // Of two waits that have nothing to do with each other, none is told as the other's.
        const std::regex right(
            backend == "threads"
                ? "1 → 0: recv\\(from 0, .*; 3 → 2: recv\\(from 2, "
                : "rank (1 waits for a message from rank 0 that was never sent: recv\\(from 0, |3 "
                  "waits for a message from rank 2 that was never sent: recv\\(from 2, )");
        CHECK(std::regex_search(two.err, right));
    }
}

TEST_CASE("under a launcher who gave up waiting has ended first, and is not said to have failed") {
    const Folder folder;
    const std::string scenario = folder.write("s.toml", with_fault("stall"));
    const auto ended = program::run({"launch", "-n", "4", "--", test::bin_folder() + "/meshscope", "run",
                                     scenario, "-q", "--timeout", "2"});
    INFO(ended.err);
    CHECK(ended.exit_code == 124);
    CHECK(std::regex_search(ended.err, std::regex("rank [023] \\(node 0\\) ended first, exit code 124: ")));
    CHECK(ended.err.find("failed") == std::string::npos);
}

TEST_CASE("between processes the end of a killed rank has one exit code, and over tcp its peers' diagnosis") {
    const Folder folder;
    program::How how;
    how.environment = processes::kUnderMpi;
    for (const std::string& backend : process_backends()) {
        const auto ended = program::run(
            {"run", folder.write("s.toml", with_fault("kill")), "-q", "--json", "-", "--backend", backend},
            how);
        INFO(backend << ": " << ended.err);
        CHECK(ended.exit_code == 75);
        CHECK(ended.err.find("signal 9") != std::string::npos);
        if (backend == "tcp") CHECK(ended.out.find("comm.peer_lost") != std::string::npos);
    }
}

TEST_CASE("between processes a rank that stalls is waited for as long as was asked, and by then told of") {
    const Folder folder;
    program::How how;
    how.environment = processes::kUnderMpi;
    const std::string scenario = folder.write("s.toml", with_fault("stall"));
    for (const std::string& backend : process_backends()) {
        const auto begin = std::chrono::steady_clock::now();
        const auto ended = program::run({"run", scenario, "-q", "--backend", backend, "--timeout", "6"}, how);
        INFO(backend << ": " << ended.err);
        CHECK(ended.exit_code == 124);
        CHECK(std::chrono::steady_clock::now() - begin < test::kGuard);
        CHECK(std::regex_search(
            ended.err,
            std::regex("rank [023] waited [0-9]+ ms in vain for [^,]*rank 1, in all_reduce\\(sum")));
        // Who waited has not failed, and of one rank is said "it".
        CHECK(ended.err.find("failed") == std::string::npos);
        CHECK(ended.err.find("they may be") == std::string::npos);
        CHECK(std::regex_search(ended.err,
                                std::regex("has waited [0-9]+ s for rank 1 in all_reduce\\(sum, float32")));
        // The stalled rank knows nothing of it, and is not the one that gives up.
        CHECK(ended.err.find("rank 1 has waited") == std::string::npos);
        CHECK(ended.err.find("rank 1 waited") == std::string::npos);
    }
}

TEST_CASE(
    "a rank that was not started as the others is told of on every rank, in words and in its language") {
    const Folder folder;
    const std::string scenario = folder.write("s.toml",
                                              "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = "
                                              "2\nglobal_batch = 8\n[mesh]\nshape = [2]\nnames "
                                              "= [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n");
    // The second process of the two records something else.
    const std::string each = "if [ $RANK = 1 ]; then more='--level off'; fi; exec " + test::bin_folder() +
                             "/meshscope --lang zh run " + scenario + " $more";
    const auto ended = program::run({"launch", "-n", "2", "--", "/bin/sh", "-c", each});
    INFO(ended.err);
    CHECK(ended.exit_code != 0);
    CHECK(ended.err.find("因 rank 1 出错而停止：rank 1 启动时的条件与 rank 0 不同") != std::string::npos);
    CHECK(ended.err.find("processes_differ") == std::string::npos);
}
