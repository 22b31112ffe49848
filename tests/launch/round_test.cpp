// A round whose worker starts ranks of its own, as mpiexec does, and does not see that they die.
#include "app/launch/round.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <sstream>

#include "app/launch/failure.h"
#include "core/base/error.h"
#include "tests/folder.h"
#include "tests/test.h"

using namespace meshscope::launch;
using meshscope::Message;
using meshscope::test::Folder;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kMark = "TEST_ROUND_ID";
constexpr milliseconds kPatience{700};

struct Made {
    RoundResult result;
    std::vector<std::string> told;
    double seconds = 0;
    std::size_t left = 0;  ///< processes
};

/// A shell script in the place of mpiexec, of two ranks.
Made run(const std::string& name, const std::string& script) {
    const std::string value = name + std::to_string(getpid());
    Job job;
    job.command = {{"sh", "-c", script}, {{kMark, value}}, false, {}};
    job.starter = Starter{"TEST_RANK", 2};
    Made made;
    RoundOptions options;
    options.patience = kPatience;
    options.mark = {kMark, value};
    options.tell = [&](const Message& message) { made.told.push_back(describe(message)); };
    std::ostringstream sink;
    Writer out(sink);
    const auto start = Clock::now();
    made.result = run_round({job}, options, out, out);
    made.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    kill_marked(kMark, value);
    while (!marked(kMark, value).empty() && Clock::now() - start < std::chrono::seconds(20)) usleep(10'000);
    made.left = marked(kMark, value).size();
    return made;
}

void check_stuck(const Made& made, const char* id = "launch.starter_stuck") {
    REQUIRE(made.told.size() == 1);
    CHECK(made.told[0] == std::string(id) + "(program=sh, seconds=0.7)");
    CHECK(made.result.outcome == Outcome::failed);
    REQUIRE(made.result.failures.size() == 1);
    CHECK(made.result.failures[0].exit_code == 75);
    CHECK(made.seconds >= 0.7);
    CHECK(made.seconds < 60);  // the script would take longer
    CHECK(made.left == 0);
}

}  // namespace

TEST_CASE("a starter that goes on without its ranks is ended, whether one is gone or all") {
    check_stuck(run("one", "TEST_RANK=0 sleep 100 & TEST_RANK=1 sleep 0.2 & wait"));
    check_stuck(run("all", "TEST_RANK=0 sleep 1 & TEST_RANK=1 sleep 1.2 & wait; sleep 100"));
    // One died before anybody saw it; or was never started.
    check_stuck(run("none", "TEST_RANK=0 sleep 100 & wait"));
    // Not waited for by the starter: a dead process that still has its number.
    check_stuck(
        run("dead", "TEST_RANK=0 sleep 100 & (TEST_RANK=1 sh -c 'sleep 0.1; exit 3' & exec sleep 100)"));
    // All came and went between two looks.
    check_stuck(run("gone", "TEST_RANK=0 true & TEST_RANK=1 true & exec sleep 100"));
}

TEST_CASE("a starter that never starts anything is ended, and one that a signal ended is no rank") {
    const Made idle = run("idle", "exec sleep 100");
    check_stuck(idle, "launch.starter_idle");
    CHECK(idle.seconds >= 1.4);  // it is given twice the time
    const Made killed = run("killed", "TEST_RANK=0 sleep 100 & TEST_RANK=1 sleep 100 & kill -9 $$");
    REQUIRE(killed.result.failures.size() == 1);
    CHECK(killed.result.failures[0].id == kStarterKilled);
    CHECK(killed.result.failures[0].exit_code == 137);
    CHECK(killed.left == 0);
}

TEST_CASE("a starter with all of its ranks is left alone, however long, and before it has any") {
    const Made late = run("late", "sleep 1.5; TEST_RANK=0 sleep 0.1 & TEST_RANK=1 sleep 0.1 & wait");
    CHECK(late.told.empty());
    CHECK(late.result.outcome == Outcome::finished);
    const Made slow = run("slow", "TEST_RANK=0 sleep 1.8 & TEST_RANK=1 sleep 1.8 & wait");
    CHECK(slow.told.empty());
    CHECK(slow.result.outcome == Outcome::finished);
    // What it says of a dead rank itself stands.
    const Made own = run("own", "TEST_RANK=0 sleep 0.1 & TEST_RANK=1 sleep 0.1 & wait; exit 9");
    CHECK(own.told.empty());
    REQUIRE(own.result.failures.size() == 1);
    CHECK(own.result.failures[0].exit_code == 9);
}

TEST_CASE("a worker that said what was wrong, and is still ending when it is stopped, keeps its exit code") {
    const Folder folder;
    Failure said;
    said.rank = 1;
    said.exit_code = 65;
    said.time_ns = 1;
    said.id = "diagnosis.mismatch";
    said.text = "all_reduce here, broadcast there";
    const std::string file = folder.file("error.json");
    write_error_file(file, said);
    const std::string value = "slow" + std::to_string(getpid());
    std::vector<Job> jobs(2);
    jobs[0].command = {{"sh", "-c", "sleep 0.3; exit 75"}, {{kMark, value}}, false, {}};
    jobs[1].command = {{"sh", "-c", "exec sleep 100"}, {{kMark, value}}, false, {}};
    jobs[1].rank = 1;
    jobs[1].error_file = file;
    RoundOptions options;
    options.mark = {kMark, value};
    std::ostringstream sink;
    Writer out(sink);
    const RoundResult result = run_round(jobs, options, out, out);
    CHECK(result.outcome == Outcome::failed);
    REQUIRE(result.failures.size() == 2);
    CHECK(result.failures[0].rank == 1);
    CHECK(result.failures[0].exit_code == 65);
    CHECK(result.failures[0].text == said.text);
    CHECK(result.failures[1].exit_code == 75);
}

// Who asks is listened to by other nodes: one whose workers take long to stop must not pass for lost.
TEST_CASE("it is asked whether all are to stop until all have, and what that throws then ends no worker") {
    const Folder folder;
    const std::string value = "ask" + std::to_string(getpid()), stopping = folder.file("stopping");
    std::vector<Job> jobs(2);
    jobs[0].command = {{"sh", "-c", "sleep 0.3; exit 9"}, {{kMark, value}}, false, {}};
    jobs[1].command = {
        {"sh", "-c", "trap 'echo > " + stopping + "; sleep 1; exit 3' TERM; while true; do sleep 0.05; done"},
        {{kMark, value}},
        false,
        {}};
    jobs[1].rank = 1;
    RoundOptions options;
    options.mark = {kMark, value};
    int asked = 0;
    options.ask = [&]() -> bool {
        if (!std::filesystem::exists(stopping)) return false;
        ++asked;
        throw meshscope::InvalidArgument({"test.late", {}});
    };
    std::ostringstream sink;
    Writer out(sink);
    const RoundResult result = run_round(jobs, options, out, out);
    CHECK(asked > 0);
    REQUIRE(result.failures.size() == 2);
    CHECK(result.failures[0].exit_code == 9);
    CHECK(result.failures[1].exit_code == 3);
}
