// A save that is killed, or told that the disk is full, at each of its system calls in turn: the folder holds
// the checkpoint of before or the new one, bit for bit, and the next save does well.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>

#include "core/run/checkpoint/folder.h"
#include "tests/run/checkpoint_helper.h"
#include "tests/run/watched.h"
#include "tests/test.h"

using namespace checkpoint_test;
using file_calls::Ended;
using file_calls::Files;
using file_calls::Plan;
using watched::program;
namespace fs = std::filesystem;

namespace {

/// Two ranks; eight small arrays. `lr` is no part of what a checkpoint demands of who resumes it.
std::string tiny(int steps, const std::string& checkpoint, double lr = 0.05) {
    return "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = " + std::to_string(steps) +
           "\nglobal_batch = 8\n[optimizer]\nkind = \"sgd\"\nmomentum = 0.9\nlr = " + std::to_string(lr) +
           "\n[mesh]\nshape = [2]\n[parallel]\ndata = \"fsdp2\"\n[record]\nlevel = \"off\"\n[checkpoint]\n" +
           checkpoint;
}

/// A save, and what lies in the folder "a" before it.
struct Save {
    Files before;
    std::string scenario;
};

/// The first save into an empty folder; one beside an older checkpoint; one that takes the place of a
/// checkpoint of the same step by another training, after which the older one goes.
Save make(const std::string& which, const std::string& kind) {
    const std::string folder = "folder = \"a\"\nkind = \"" + kind + "\"\n";
    if (which == "first") return {{}, tiny(2, folder)};
    const test::Folder scratch;
    run_at(tiny(2, folder), scratch);
    Save save{{}, tiny(4, folder + "resume = \"a/step_000002\"\n")};
    if (which == "replacing") {
        run_at(tiny(4, folder + "resume = \"a\"\n", 0.01), scratch);
        save.scenario += "keep = 1\n";
    }
    save.before = file_calls::files_below(scratch.file("a"));
    return save;
}

/// The files of one checkpoint among those of a folder of them.
Files of_step(const Files& files, const std::string& step) {
    Files own;
    for (const auto& [name, bytes] : files)
        if (name.starts_with(step + "/")) own.emplace_back(name.substr(step.size() + 1), bytes);
    return own;
}

std::string name_of(const std::string& path) {
    return fs::path(path).filename().string();
}

/// The program of a Trial whose ranks are processes.
constexpr const char* kTwoProcesses = "two processes";

/// Starts both ranks, `$zero` and `$one`, and waits for neither.
std::string two_ranks(const std::string& scenario, const test::Folder& folder) {
    const std::string store = folder.file("store");
    const auto rank = [&](const std::string& r, const std::string& variable) {
        return "RANK=" + r + " WORLD_SIZE=2 LOCAL_RANK=" + r + " LOCAL_WORLD_SIZE=2 " + program("meshscope") +
               " run " + scenario + " --quiet --backend tcp --init-method file://" + store + " & " +
               variable + "=$!; ";
    };
    return "rm -f " + store + "; " + rank("0", "zero") + rank("1", "one");
}

/// The exit code is 0 when both ranks' are.
std::string two_processes(const std::string& scenario, const test::Folder& folder) {
    return two_ranks(scenario, folder) + "wait $zero; a=$?; wait $one && exit $a";
}

/// Goes through a save's calls one by one.
class Trial {
  public:
    Trial(std::string with, const std::string& which, const std::string& kind)
        : with_(std::move(with)), save_(make(which, kind)) {
        scenario_ = folder_.write("s.toml", save_.scenario);
        file_calls::put_back(save_.before, folder_.file("a"));
        const Ended undisturbed = run({});
        INFO(undisturbed.err);
        REQUIRE(undisturbed.exit_code == 0);
        after_ = files();
        newest_before_ = newest(save_.before);
        newest_after_ = newest(after_);
        REQUIRE(newest_before_ != newest_after_);
    }

    /// The n-th counted call meets its fate, for n from 1 (a sanitizer's build: every fifth, and the last)
    /// until the save has no n-th; `check` sees how each ended. Returns how many calls there were.
    std::size_t each(Plan plan, const std::function<void(const Ended&)>& check,
                     std::size_t every = watched::kEvery) {
        plan.below = folder_.file("a");
        std::size_t n_calls = 0;  // once known
        for (plan.nth = 1;; plan.nth += every) {
            file_calls::put_back(save_.before, plan.below);
            const Ended ended = run(plan);
            if (ended.calls.size() < plan.nth) {
                CHECK(ended.exit_code == 0);
                CHECK(newest(files()) == newest_after_);
                n_calls = ended.calls.size();
                if (n_calls + every == plan.nth) return n_calls;
                plan.nth = n_calls - every;
                continue;
            }
            const file_calls::Call& call = ended.calls[plan.nth - 1];
            INFO("call " << plan.nth << ": " << call.name << " " << call.path);
            INFO(ended.err);
            check(ended);
            check_folder();
            check_next_save();
            if (plan.nth == n_calls) return n_calls;
        }
    }

    /// Whether the newest complete checkpoint is the one of before, or the new one.
    bool is_old() const { return newest(files()) == newest_before_; }
    bool is_new() const { return newest(files()) == newest_after_; }
    /// Its path; "" where there is none.
    std::string newest_path() const {
        const auto complete = run::checkpoint::complete_checkpoints(folder_.file("a"));
        return complete.empty() ? "" : complete.back();
    }
    bool holds_parts() const {
        if (!fs::exists(folder_.path / "a")) return false;
        for (const auto& entry : fs::directory_iterator(folder_.path / "a"))
            if (entry.path().extension() == ".tmp") return true;
        return false;
    }

  private:
    Ended run(const Plan& plan) const {
        if (with_ == kTwoProcesses)
            return file_calls::run({"/bin/sh", "-c", two_processes(scenario_, folder_)}, plan);
        if (with_ == program("test_saver")) return file_calls::run({with_, scenario_}, plan);
        return file_calls::run({with_, "run", scenario_, "--quiet"}, plan);
    }
    Files files() const { return file_calls::files_below(folder_.file("a")); }

    /// The files of the newest complete checkpoint among these.
    static Files newest(const Files& files) {
        std::string step;
        for (const auto& [name, bytes] : files)
            if (name.ends_with("/manifest.json") && name.find(".tmp/") == std::string::npos)
                step = std::max(step, name.substr(0, name.find('/')));
        return of_step(files, step);
    }

    /// Every checkpoint that looks complete is one of before or the new one, to the bit, and can be loaded;
    /// the newest there was before, or the new one, is among them.
    void check_folder() const {
        const std::string folder = folder_.file("a");
        for (const std::string& path : run::checkpoint::complete_checkpoints(folder)) {
            INFO(path);
            const Files found = file_calls::files_below(path);
            const bool known =
                found == of_step(save_.before, name_of(path)) || found == of_step(after_, name_of(path));
            CHECK(known);
            const run::checkpoint::Checkpoint loaded = open(path, tiny(6, "folder = \"a\"\n"));
            for (const auto& tensor : loaded.manifest().tensors) CHECK(!loaded.whole(tensor.name).empty());
        }
        const bool old_or_new = is_old() || is_new();
        CHECK(old_or_new);
    }

    /// Training goes on from what there is, saves, and leaves nothing but whole checkpoints; what it saved is
    /// what it saves from the same checkpoint in a folder where nothing happened.
    void check_next_save() {
        const Files start = newest(files());
        const std::string from = newest_path();
        const auto go_on = [&](const test::Folder& folder) {
            run_at(tiny(6, std::string("folder = \"a\"\n") + (from.empty() ? "" : "resume = \"a\"\n")),
                   folder);
            return file_calls::files_below(folder.file("a/step_000006"));
        };
        if (!expected_.contains(start)) {
            const test::Folder elsewhere;
            if (!from.empty()) file_calls::put_back(start, elsewhere.file("a/" + name_of(from)));
            expected_[start] = go_on(elsewhere);
            REQUIRE(expected_[start].size() == 4);  // two ranks' or one file, manifest, mark
        }
        const bool as_expected = go_on(folder_) == expected_[start];
        CHECK(as_expected);
        for (const auto& entry : fs::directory_iterator(folder_.path / "a")) {
            INFO(entry.path().string());
            CHECK(fs::exists(entry.path() / "manifest.json"));
        }
    }

    std::string with_;
    Save save_;
    test::Folder folder_;
    std::string scenario_;
    Files after_, newest_before_, newest_after_;
    std::map<Files, Files> expected_;  ///< what the next save gives, by what it goes on from
};

}  // namespace

TEST_CASE("killed at any system call of its save, a checkpoint leaves the old one or the new one whole") {
    if (!watched::possible()) return;
    const std::string which = GENERATE("first", "beside", "replacing");
    const std::string kind = GENERATE("sharded", "rank0");
    INFO(which << " " << kind);
    Trial trial(program("test_saver"), which, kind);
    int old = 0, fresh = 0;
    const std::size_t calls = trial.each(
        {.below = {}, .counted = file_calls::Counted::changing, .fate = file_calls::Fate::killed, .error = 0},
        [&](const Ended& ended) {
            CHECK(ended.exit_code == 128 + SIGKILL);
            ++(trial.is_old() ? old : fresh);
        });
    CHECK(calls > (kind == "sharded" ? 35U : 20U));
    CHECK(old > 0);
    CHECK(fresh > 0);
}

TEST_CASE(
    "a disk that is full from any write of a save on ends the run, and leaves the old checkpoint alone") {
    if (!watched::possible()) return;
    // The program itself once: its exit code, its words.
    const auto [with, which, kind] =
        GENERATE(table<std::string, std::string, std::string>({{"test_saver", "first", "sharded"},
                                                               {"meshscope", "beside", "sharded"},
                                                               {"test_saver", "beside", "rank0"}}));
    INFO(which << " " << kind);
    Trial trial(program(with), which, kind);
    const std::size_t calls =
        trial.each({.below = {},
                    .counted = file_calls::Counted::growing,
                    .fate = file_calls::Fate::fails_from,
                    .error = ENOSPC},
                   [&](const Ended& ended) {
                       CHECK(ended.exit_code == 74);
                       CHECK(ended.err.find("No space left on device") != std::string::npos);
                       CHECK(ended.err.find(which == "first" ? "checkpoint.save_failed("
                                                             : trial.newest_path()) != std::string::npos);
                       CHECK(trial.is_old());
                       CHECK_FALSE(trial.holds_parts());
                   });
    CHECK(calls > (kind == "sharded" ? 20U : 12U));
}

TEST_CASE("an input/output error in any one call of a save is told, or did no harm") {
    if (!watched::possible()) return;
    const std::string kind = GENERATE("sharded", "rank0");
    INFO(kind);
    Trial trial(program("test_saver"), "replacing", kind);
    int told = 0, harmless = 0;
    trial.each({.below = {},
                .counted = file_calls::Counted::changing,
                .fate = file_calls::Fate::fails,
                .error = EIO},
               [&](const Ended& ended) {
                   if (ended.exit_code == 0) {
                       ++harmless;
                       CHECK(trial.is_new());
                       return;
                   }
                   ++told;
                   CHECK(ended.exit_code == 74);
                   CHECK(trial.is_old());
                   CHECK(ended.err.find("checkpoint.save_failed_kept") != std::string::npos);
                   CHECK(ended.err.find("Input/output error") != std::string::npos);
                   CHECK(ended.err.find(trial.newest_path()) != std::string::npos);
               });
    CHECK(told > 0);
    if (watched::kEvery > 1) return;
    CHECK(told > harmless);
    CHECK(harmless > 0);  // what was replaced could not be removed, say
}

TEST_CASE("a rank's process killed at a call of its save leaves the old checkpoint or the new one whole") {
    if (!watched::possible()) return;
    Trial trial(kTwoProcesses, "replacing", "sharded");
    // Each takes the start of two processes: every fifth call, or as many as are asked for.
    const std::size_t every = std::getenv("MESHSCOPE_EVERY_CALL") != nullptr ? 1 : 5 * watched::kEvery;
    int old = 0;
    trial.each(
        {.below = {}, .counted = file_calls::Counted::changing, .fate = file_calls::Fate::killed, .error = 0},
        [&](const Ended&) { old += trial.is_old(); }, every);
    CHECK(old > 0);
}

TEST_CASE("a rank other than 0 that loses its peer leaves alone what rank 0 was saving") {
    const test::Folder folder;
    const std::string scenario =
        folder.write("s.toml", tiny(1'000'000, "folder = \"a\"\nevery = 10\nkeep = 2\n"));
    const std::string unfinished = folder.file("a/step_999999.tmp");
    const std::string script =
        two_ranks(scenario, folder) + "until ls " + folder.file("a") +
        "/step_*0/manifest.json >/dev/null 2>&1; do kill -0 $zero || exit 1; sleep 0.05; done; "
        "kill -STOP $zero; mkdir " +
        unfinished + "; kill -KILL $zero; wait $one; test $? = 75";
    CHECK(std::system(("( " + script + " ) 2>/dev/null").c_str()) == 0);
    CHECK(fs::exists(unfinished));
}
