// `meshscope launch`: torchrun's variables and rules, and nothing left behind.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "tests/cli/program.h"
#include "tests/launch/processes.h"
#include "tests/patience.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/tree.h"

using namespace processes;
using program::content;
using program::Folder;
using program::run;

namespace {

std::vector<std::string> shell(std::vector<std::string> options, const std::string& script) {
    options.insert(options.begin(), "launch");
    for (const char* word : {"--", "sh", "-c"}) options.emplace_back(word);
    options.push_back(script);
    return options;
}

/// A shell's wait for `file` to have that many lines: what is said of workers that are stopped holds once all
/// have started.
std::string until_lines(const std::string& file, const std::string& lines) {
    return "while test $(wc -l < " + file + ") -lt " + lines + "; do sleep 0.02; done";
}

/// A word that marks everything a test started, in its environment.
std::string mark(const Folder& folder) {
    return folder.path.filename().string();
}

}  // namespace

TEST_CASE("workers find PyTorch's variables, and their lines stand behind their ranks") {
    const auto ended =
        run(shell({"-n", "3"},
                  "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE "
                  "$MASTER_ADDR $TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS $OMP_NUM_THREADS; "
                  "test $MASTER_PORT -gt 0 && test ${#MESHSCOPE_TOKEN} = 64 && printf 'no newline'"));
    CHECK(ended.exit_code == 0);
    CHECK(sorted_lines(ended.out) ==
          std::vector<std::string>{"[0]: 0/3 0/3 0/1 127.0.0.1 0/0 1", "[0]: no newline",
                                   "[1]: 1/3 1/3 0/1 127.0.0.1 0/0 1", "[1]: no newline",
                                   "[2]: 2/3 2/3 0/1 127.0.0.1 0/0 1", "[2]: no newline"});
    CHECK(ended.err == "");
    const auto bare = run(shell({"-n", "1", "--no-prefix"}, "echo out; echo err >&2"));
    CHECK(bare.out == "out\n");
    CHECK(bare.err == "err\n");
}

TEST_CASE("a launcher opens as many files as it must, and its workers may as many as it was given") {
    const auto launched_with = [](const std::string& limit) {
        const std::string line = "ulimit " + limit + "; exec " + meshscope::test::bin_folder() +
                                 "/meshscope launch -n 16 --no-prefix -- sh -c 'ulimit -S -n'";
        return run(shell({"-n", "1", "--no-prefix"}, line));
    };
    const auto raised = launched_with("-S -n 32");
    CHECK(raised.exit_code == 0);
    CHECK(sorted_lines(raised.out) == std::vector<std::string>(16, "32"));
    const auto refused = launched_with("-n 64");
    CHECK(refused.exit_code == 74);
    CHECK(refused.out == "");
    CHECK(refused.err.find("16 workers need ") != std::string::npos);
    CHECK(refused.err.find("allows 64;") != std::string::npos);
}

TEST_CASE("when nobody reads its output any more a launcher ends its workers, and itself as by SIGPIPE") {
    const Folder folder;
    // A minute is more than it needs, and less than for ever.
    const std::string launch =
        "TEST_MARK=" + mark(folder) + " timeout 60 " + meshscope::test::bin_folder() +
        "/meshscope launch -n 2 -- sh -c 'trap \"\" PIPE; while :; do echo line; sleep 0.01; done'";
    const auto ended = run(shell({"-n", "1", "--no-prefix"},
                                 "{ " + launch + "; echo $? > " + folder.file("code") + "; } | head -n 1"));
    CHECK(ended.out.ends_with("]: line\n"));
    CHECK(content(folder.file("code")) == "141\n");
    CHECK(within(10, [&] { return having({{"TEST_MARK", mark(folder)}}).empty(); }));
}

TEST_CASE("logs hold each worker's output by round and rank") {
    const Folder folder;
    const auto ended =
        run(shell({"-n", "2", "--log-dir", folder.file("logs")}, "echo $RANK; echo e$RANK >&2"));
    CHECK(ended.exit_code == 0);
    CHECK(content(folder.file("logs/0/1/stdout.log")) == "1\n");
    CHECK(content(folder.file("logs/0/0/stderr.log")) == "e0\n");
    // A later job's go on from there.
    CHECK(run(shell({"-n", "2", "--log-dir", folder.file("logs")}, "echo $RANK")).exit_code == 0);
    CHECK(content(folder.file("logs/0/1/stdout.log")) == "1\n1\n");
}

TEST_CASE("a log of somebody else's is not appended to unless told") {
    const Folder folder;
    folder.write("logs/0/0/stdout.log", "mine\n");
    const auto refused =
        run(shell({"-n", "1", "--log-dir", folder.file("logs")}, "touch " + folder.file("started")));
    INFO(refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("logs/0/0/stdout.log exists") != std::string::npos);
    CHECK(content(folder.file("logs/0/0/stdout.log")) == "mine\n");
    CHECK_FALSE(std::filesystem::exists(folder.file("started")));
    CHECK(run(shell({"-n", "1", "--force", "--log-dir", folder.file("logs")}, "echo on")).exit_code == 0);
    CHECK(content(folder.file("logs/0/0/stdout.log")) == "mine\non\n");
}

TEST_CASE("a failed worker stops all, all start again as often as allowed, and the report names it first") {
    const Folder folder;
    const auto ended = run(shell(
        {"-n", "3", "--max-restarts", "2", "--report", folder.file("r.json")},
        "echo $RANK $MESHSCOPE_ROUND $TORCHELASTIC_RESTART_COUNT $MESHSCOPE_RESUME >> " +
            folder.file("starts") + "; test $RANK = 1 && { " +
            until_lines(folder.file("starts"), "$((3 * MESHSCOPE_ROUND + 3))") + "; exit 7; }; sleep 60"));
    CHECK(ended.exit_code == 7);
    CHECK(sorted_lines(content(folder.file("starts"))) ==
          std::vector<std::string>{"0 0 0", "0 1 1 auto", "0 2 2 auto", "1 0 0", "1 1 1 auto", "1 2 2 auto",
                                   "2 0 0", "2 1 1 auto", "2 2 2 auto"});
    const auto report = nlohmann::json::parse(content(folder.file("r.json")));
    CHECK(report["restarts"] == 2);
    CHECK(report["root_cause"]["rank"] == 1);
    CHECK(report["root_cause"]["exit_code"] == 7);
    CHECK(report["root_cause"]["secondary"] == false);
    CHECK(report["errors"].size() == 1);  // the others were stopped by us
    CHECK(ended.err.find("rank 1 (node 0) failed first, exit code 7: no error was recorded") !=
          std::string::npos);
}

TEST_CASE("of several failures the first in time is the root cause, and the rest are secondary") {
    const Folder folder;
    // Rank 2 fails first; rank 0 follows on being told to stop, with words of its own.
    const std::string words =
        R"(trap 'echo "{\"message\":{\"message\":\"stopped\"},\"meshscope\":{\"id\":\"comm.aborted\",\"exit_code\":75,\"time_ns\":5,\"secondary\":true}}" > $TORCHELASTIC_ERROR_FILE; exit 75' TERM; )";
    const auto ended = run(shell({"-n", "3", "--report", folder.file("r.json")},
                                 words + "echo >> " + folder.file("ready") + "; test $RANK = 2 && { " +
                                     until_lines(folder.file("ready"), "3") +
                                     "; kill -9 $$; }; while true; do sleep 0.05; done"));
    CHECK(ended.exit_code == 137);
    const auto report = nlohmann::json::parse(content(folder.file("r.json")));
    CHECK(report["root_cause"]["rank"] == 2);
    CHECK(report["root_cause"]["exit_code"] == 137);
    REQUIRE(report["errors"].size() == 3);
    CHECK(report["errors"][1]["secondary"] == true);
    CHECK(report["errors"][1]["text"] == "stopped");
    CHECK(report["errors"][2]["secondary"] == true);
}

TEST_CASE("a job that fails once and then does well ends well") {
    const auto ended = run(shell({"-n", "2", "--max-restarts", "1"}, "test $MESHSCOPE_ROUND = 1"));
    CHECK(ended.exit_code == 0);
    CHECK(ended.err.find("restart 1 of at most 1") != std::string::npos);
}

TEST_CASE("a launcher that is killed takes everything with it, whatever session it hides in") {
    for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
        INFO(signal);
        const auto until_gone = [&] {
            const Folder folder;
            const std::map<std::string, std::string> marked{{"TEST_MARK", mark(folder)}};
            Child launcher(shell({"-n", "3"}, "sleep 1000 & setsid sleep 1000 & sleep 1000"),
                           folder.file("out"), folder.file("err"), {"TEST_MARK=" + mark(folder)});
            // The launcher and its watchdog, and of each worker a shell and three sleeps.
            REQUIRE(within(60, [&] { return having(marked).size() == 2 + 3 * 4; }));
            launcher.send(signal);
            const int code = launcher.wait(60);
            const auto ended = std::chrono::steady_clock::now();
            CHECK(code == 128 + signal);
            CHECK(within(60, [&] { return having(marked).empty(); }));
            return std::chrono::steady_clock::now() - ended;
        };
        CHECK(meshscope::test::kept(std::chrono::seconds(2), until_gone));
    }
}

TEST_CASE("a run that is killed leaves none of its temporary files, nor Open MPI's") {
    std::vector<std::string> backends = mpi_backends();
    backends.emplace_back("tcp");
    for (const std::string& backend : backends) {
        INFO(backend);
        const Folder folder;
        const std::string scenario = folder.write(
            "s.toml",
            "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 8\nlayers = 2\n[train]\nsteps = 1000000\n"
            "global_batch = 6\n[record]\nlevel = \"off\"\n[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n");
        const std::string files = folder.write("files/first", "");
        std::filesystem::remove(files);
        std::vector<std::string> places{std::filesystem::path(files).parent_path()};
        const std::map<std::string, std::string> marked{{"TEST_MARK", mark(folder)}};
        std::vector<std::string> environment = kUnderMpi;
        environment.insert(environment.end(), {"TEST_MARK=" + mark(folder), "TMPDIR=" + places[0]});
        Child run({"run", scenario, "-q", "--backend", backend}, folder.file("out"), folder.file("err"),
                  environment);
        // The thread sanitizer has a file there while a process starts, and leaves it when that is killed.
        const auto is_used = [](const std::string& place) {
            std::error_code none;
            const std::filesystem::directory_iterator all(place, none);
            return std::ranges::any_of(all, [](const auto& one) {
                return !one.path().filename().string().starts_with("tsan.rodata.");
            });
        };
        // Ranks know where Open MPI shares memory.
        const std::string variable = "OMPI_MCA_btl_vader_backing_directory=";
        REQUIRE(within(60, [&] {
            const std::vector<pid_t> processes = having(marked);
            for (const pid_t process : processes) {
                std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
                for (std::string one; places.size() < 2 && std::getline(file, one, '\0');)
                    if (one.starts_with(variable)) places.push_back(one.substr(variable.size()));
            }
            // The launcher, its watchdog and two ranks.
            return processes.size() >= 4 && places.size() == (backend == "mpi-openmpi" ? 2 : 1) &&
                   std::ranges::all_of(places, is_used);
        }));
        run.send(SIGKILL);
        run.wait(60);
        CHECK(within(60, [&] { return having(marked).empty(); }));  // the watchdog, too, has ended
        for (const std::string& place : places) CHECK_FALSE(is_used(place));
        if (places.size() == 2) CHECK_FALSE(std::filesystem::exists(places[1]));
    }
}

TEST_CASE("a worker that ends leaves nothing behind either") {
    const Folder folder;
    const std::map<std::string, std::string> marked{{"TEST_MARK", mark(folder)}};
    Child launcher(shell({"-n", "2"}, "setsid sleep 1000 & exit 0"), folder.file("out"), folder.file("err"),
                   {"TEST_MARK=" + mark(folder)});
    CHECK(launcher.wait(60) == 0);
    CHECK(within(2, [&] { return having(marked).empty(); }));
}

TEST_CASE(
    "a launcher whose output nobody reads ends at the first signal, while its workers write and after") {
    for (const std::string script : {"exec yes", "yes | head -c 200000"})
        for (const int signal : {SIGTERM, SIGINT}) {
            INFO(script << ", signal " << signal);
            const Folder folder;
            const std::string pager = folder.file("pager");
            REQUIRE(mkfifo(pager.c_str(), 0600) == 0);
            const int reader = open(pager.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
            Child launcher(shell({"-n", "1"}, script), pager, folder.file("err"));
            int before = -1, there = 0;
            REQUIRE(within(60, [&] {  // the pipe is full
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                before = std::exchange(there, 0);
                return ioctl(reader, FIONREAD, &there) == 0 && there > 0 && there == before;
            }));
            launcher.send(signal);
            CHECK(launcher.wait(4) == 128 + signal);  // SIGKILL would come after five seconds
            close(reader);
        }
}

TEST_CASE("what cannot be started, and options that do not fit, are told") {
    const auto none = run({"launch", "-n", "2", "--", "/no/such/program"});
    CHECK(none.exit_code == 74);
    CHECK(none.err.find("/no/such/program cannot be started: No such file or directory") !=
          std::string::npos);
    CHECK(run({"launch", "-n", "2"}).exit_code == 2);
    CHECK(run({"launch", "--nodes", "2", "--", "true"}).exit_code == 2);
    CHECK(run({"launch", "--nodes", "3:1", "--", "true"}).exit_code == 2);
    CHECK(run({"launch", "--nodes", "1:2", "--rdzv-endpoint", "127.0.0.1:0", "--", "true"}).exit_code == 2);
    for (const char* endpoint : {"nowhere", ":29400", "::1:29400", "host:70000", "host:"}) {
        const auto nowhere = run({"launch", "--node-rank", "0", "--rdzv-endpoint", endpoint, "--", "true"});
        CHECK(nowhere.exit_code == 65);
        CHECK(nowhere.err.find(std::string(endpoint) + " is no address; write host:port") !=
              std::string::npos);
    }
    for (const char* option : {"--last-call", "--rdzv-timeout"})
        for (const std::string seconds : {"nan", "-nan", "inf", "-1", "86401", "soon"}) {
            const auto wrong = run({"launch", std::string(option) + "=" + seconds, "--", "true"});
            CHECK(wrong.exit_code == 2);
            CHECK(wrong.err.find(std::string(option) + " cannot be \"" + seconds +
                                 "\": it takes a number from 0 to 86400 (seconds)") != std::string::npos);
        }
    // An address that others can reach needs a secret.
    CHECK(run({"launch", "-n", "1", "--nodes", "1", "--node-rank", "0", "--rdzv-endpoint", "127.0.0.1:0",
               "--bind", "0.0.0.0", "--", "true"})
              .exit_code == 65);
}

TEST_CASE("a hundred launches in a row all begin and end") {
    for (int i = 0; i < (meshscope::test::kSanitizer ? 20 : 100); ++i) {
        const auto ended = run(shell({"-n", "2", "--no-prefix"}, "echo $MASTER_PORT > /dev/null"));
        REQUIRE(ended.err == "");
        REQUIRE(ended.exit_code == 0);
    }
}

TEST_CASE("a launcher whose parent ignores the end of children sees its workers end all the same") {
    const Folder folder;
    const auto before = std::signal(SIGCHLD, SIG_IGN);  // which a program that is started keeps
    Child launcher({"launch", "-n", "2", "--", "true"}, folder.file("out"), folder.file("err"));
    std::signal(SIGCHLD, before);
    CHECK(launcher.wait(30) == 0);
}
