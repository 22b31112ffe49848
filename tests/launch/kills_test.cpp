// kill -9 of any rank at any time, over strategies and backends: the job goes on from its newest checkpoint
// and ends with the weights of a run that nobody disturbed, bit for bit.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
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

using Clock = std::chrono::steady_clock;

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

std::string checkpoints_in(const Folder& folder) {
    return "[checkpoint]\nfolder = \"" + folder.file("c") + "\"\nevery = 40\nkeep = 2\n";
}

int number_of(const char* variable, int otherwise) {
    const char* const text = std::getenv(variable);
    return text ? std::atoi(text) : otherwise;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// `meshscope run` of a strategy over a backend, that starts again what is killed.
class Job {
  public:
    Job(const Strategy& strategy, const std::string& backend)
        : backend_(backend),
          mark_(folder_.path.filename().string()),
          child_({"run", folder_.write("s.toml", text_of(strategy, checkpoints_in(folder_))), "-q",
                  "--backend", backend, "--max-restarts", "3", "--save", folder_.file("w")},
                 folder_.file("out"), folder_.file("err"), {"TEST_MARK=" + mark_, kUnderMpi[0]}) {}

    /// The processes of one rank, as soon as there are any.
    std::vector<pid_t> await(int rank) const {
        const std::string variable = backend_ == "tcp"           ? "RANK"
                                     : backend_ == "mpi-openmpi" ? "OMPI_COMM_WORLD_RANK"
                                                                 : "PMI_RANK";
        std::vector<pid_t> found;
        REQUIRE(within(60, [&] {
            found = having({{"TEST_MARK", mark_}, {variable, std::to_string(rank)}});
            return !found.empty();
        }));
        return found;
    }
    /// Its mpiexec.
    std::vector<pid_t> starters() const {
        std::vector<pid_t> found;
        for (const pid_t pid : having({{"TEST_MARK", mark_}}))
            if (content("/proc/" + std::to_string(pid) + "/comm").starts_with("mpiexec"))
                found.push_back(pid);
        return found;
    }
    int wait() { return child_.wait(120); }
    std::string said() const { return content(folder_.file("err")); }
    std::string weights() const { return content(folder_.file("w")); }
    bool left_nothing() const {
        return within(2, [&] { return having({{"TEST_MARK", mark_}}).empty(); });
    }

  private:
    Folder folder_;
    std::string backend_, mark_;
    Child child_;
};

/// A strategy's weights when nobody disturbs it, on threads; and how long it takes over each backend, from
/// the first sight of a rank to its end.
struct Unbroken {
    std::string weights;
    std::map<std::string, double> seconds;
};

void run_undisturbed(const Strategy& strategy, const std::string& backend, Unbroken& known) {
    INFO(strategy.name << " over " << backend << ", undisturbed");
    if (known.weights.empty()) {
        const Folder folder;
        const auto ended = program::run(
            {"run", folder.write("u.toml", text_of(strategy, "")), "-q", "--save", folder.file("u")});
        INFO(ended.err);
        REQUIRE(ended.exit_code == 0);
        known.weights = content(folder.file("u"));
        REQUIRE(known.weights.size() > 500);
    }
    if (known.seconds.contains(backend)) return;
    Job job(strategy, backend);
    job.await(0);
    const auto start = Clock::now();
    const int code = job.wait();
    INFO(job.said());
    REQUIRE(code == 0);
    known.seconds[backend] = seconds_since(start);
    const bool same_weights = job.weights() == known.weights;
    CHECK(same_weights);
}

}  // namespace

/// MESHSCOPE_KILLS says how many; the seed MESHSCOPE_KILL_SEED; MESHSCOPE_KILL_FIRST where to begin in its
/// sequence, to see one of them again.
TEST_CASE("a rank that is killed at any time changes nothing in the weights that come out") {
    const int kills = number_of("MESHSCOPE_KILLS", MESHSCOPE_DEFAULT_KILLS),
              seed = number_of("MESHSCOPE_KILL_SEED", 1), first = number_of("MESHSCOPE_KILL_FIRST", 0);
    const std::vector<std::string> mpis = mpi_backends();
    std::vector<Unbroken> unbroken(kStrategies.size());
    int hit = 0;
    double slowest = 0;
    for (int i = first; i < first + kills; ++i) {
        const std::size_t s = static_cast<std::size_t>(i) % kStrategies.size();
        const Strategy& strategy = kStrategies[s];
        // tcp every other time; the MPIs take turns.
        const std::string backend =
            i % 2 == 0 || mpis.empty() ? "tcp" : mpis[static_cast<std::size_t>(i / 2) % mpis.size()];
        run_undisturbed(strategy, backend, unbroken[s]);
        const auto draw = [&](uint64_t what, int most) {
            return static_cast<int>(meshscope::uniform_below(
                static_cast<uint64_t>(most), static_cast<uint64_t>(seed), what, static_cast<uint64_t>(i)));
        };
        // At a thousandth of its time, so that a slow machine kills at the same places as a fast one.
        const int rank = draw(1, strategy.ranks), moment = draw(2, 1000);
        std::ostringstream which;
        which << "kill " << i << " seed " << seed << ": " << strategy.name << " over " << backend << ", rank "
              << rank << " at " << moment << "/1000";
        INFO(which.str());
        if (std::getenv("MESHSCOPE_KILLS")) std::cout << which.str() << std::flush;
        Job job(strategy, backend);
        const std::vector<pid_t> victims = job.await(rank);
        std::this_thread::sleep_for(
            std::chrono::duration<double>(unbroken[s].seconds[backend] * moment / 1000));
        bool killed = false;
        for (const pid_t victim : victims) killed = kill(victim, SIGKILL) == 0 || killed;
        const auto start = Clock::now();
        const int code = job.wait();
        const double seconds = seconds_since(start);
        INFO(job.said());
        CHECK(code == 0);
        const bool same_weights = job.weights() == unbroken[s].weights;  // a CHECK of them would print them
        CHECK(same_weights);
        const bool hit_it = killed && job.said().find("restart 1") != std::string::npos;
        hit += hit_it;
        if (hit_it) slowest = std::max(slowest, seconds);
        CHECK(job.left_nothing());
        if (std::getenv("MESHSCOPE_KILLS"))
            std::cout << (hit_it ? ": started again, " : ": too late, ") << seconds << " s to the end\n"
                      << std::flush;
    }
    std::cout << kills << " kills, " << hit << " of them in the middle of a run; the longest from a kill to "
              << "the end of its job took " << slowest << " s\n";
    if (kills > 2) CHECK(hit > 0);  // one alone may be too late
}

TEST_CASE("ranks start again though their mpiexec, which should see that one was killed, does nothing") {
    // Open MPI's may lock something that it has freed, and stand for ever; here a stopped one stands for it.
    const Strategy& strategy = kStrategies[6];
    std::vector<std::unique_ptr<Job>> jobs;
    for (const std::string& backend : mpi_backends())
        jobs.push_back(std::make_unique<Job>(strategy, backend));
    Unbroken unbroken;
    for (const auto& job : jobs) {
        const std::vector<pid_t> victims = job->await(1), starters = job->starters();
        CHECK(starters.size() == 1);
        for (const pid_t starter : starters) kill(starter, SIGSTOP);
        for (const pid_t victim : victims) kill(victim, SIGKILL);
    }
    run_undisturbed(strategy, "tcp", unbroken);
    for (const auto& job : jobs) {
        const int code = job->wait();
        INFO(job->said());
        CHECK(code == 0);
        CHECK(job->said().find("is still running") != std::string::npos);
        CHECK(job->said().find("restart 1") != std::string::npos);
        const bool same_weights = job->weights() == unbroken.weights;
        CHECK(same_weights);
        CHECK(job->left_nothing());
    }
}
