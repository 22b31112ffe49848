// Checkpoints: five steps, a save, five more are ten steps, bit for bit; and what one strategy saved another
// loads, bit for bit.
#include "core/run/checkpoint/folder.h"

#include <algorithm>

#include "tests/run/checkpoint_helper.h"
#include "tests/sanitizer.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace checkpoint_test;
using run::checkpoint::Checkpoint;

namespace {

void check_same_parameters(const run::RunResult& a, const run::RunResult& b) {
    REQUIRE(a.parameters.size() == b.parameters.size());
    for (std::size_t p = 0; p < a.parameters.size(); ++p) {
        INFO(a.parameters[p].name);
        CHECK(a.parameters[p].numbers == b.parameters[p].numbers);
    }
}

/// Every array and all that goes with it.
void check_same_state(const Checkpoint& a, const Checkpoint& b) {
    CHECK(a.manifest().steps == b.manifest().steps);
    CHECK(a.manifest().losses == b.manifest().losses);
    CHECK(a.manifest().grad_norms == b.manifest().grad_norms);
    CHECK(a.manifest().optimizer_steps == b.manifest().optimizer_steps);
    REQUIRE(a.manifest().tensors.size() == b.manifest().tensors.size());
    for (const run::checkpoint::SavedTensor& tensor : a.manifest().tensors) {
        INFO(tensor.name);
        CHECK(a.whole(tensor.name) == b.whole(tensor.name));
    }
}

int64_t collectives(const run::RunResult& result, const std::string& rule) {
    int64_t n = 0;
    for (const trace::Event& event : result.trace->ranks.at(0).events)
        n += event.kind == trace::EventKind::collective && result.trace->text(event.rule) == rule;
    return n;
}

}  // namespace

TEST_CASE("five steps, a checkpoint and five more are ten steps, bit for bit") {
    const std::string parallel =
        GENERATE(kSingle, kDdp3, kFsdp4, kFsdp8, kHsdp, kFsdp1, kZero1, kZero2, kTp, kFsdpTp, kPpDdp, kPpZero,
                 kPpTp, kDp, kOffload, kStatic, kMixedDdp, kMixedZero2);
    const std::string optimizer = GENERATE(kAdamw, kMomentum);
    const std::string kind = GENERATE("sharded", "rank0");
    INFO(parallel << optimizer << kind);
    if (test::kSanitizer && (optimizer == kMomentum) != (kind == "rank0")) return;
    const test::Folder folder;
    const auto whole = run_at(text(10, parallel, "", optimizer), folder);

    const std::string checkpoint = "folder = \"c\"\nevery = 5\nkind = \"" + kind + "\"\n";
    const auto first = run_at(text(5, parallel, checkpoint, optimizer), folder);
    const auto second = run_at(text(10, parallel, checkpoint + "resume = \"c\"\n", optimizer), folder);
    CHECK(second.trace->info.losses == whole.trace->info.losses);
    CHECK(second.trace->info.grad_norms == whole.trace->info.grad_norms);
    check_same_parameters(second, whole);
    // The steps before were not run again.
    for (const trace::Event& event : second.trace->ranks[0].events)
        CHECK((event.step == -1 || event.step >= 5));

    // A run that saves in between trains as one that does not, and its second checkpoint is the same.
    const auto through =
        run_at(text(10, parallel, "folder = \"d\"\nevery = 5\nkind = \"" + kind + "\"\n", optimizer), folder);
    check_same_parameters(through, whole);
    const std::string later = text(11, parallel, "", optimizer);
    check_same_state(open(folder.file("c/step_000010"), later), open(folder.file("d"), later));
    check_same_state(open(folder.file("c/step_000005"), later), open(folder.file("d/step_000005"), later));
    // Every rank waits at one barrier a checkpoint.
    CHECK(collectives(through, "checkpoint.barrier") == (parallel == kSingle ? 0 : 2));
}

TEST_CASE("a checkpoint of the first steps goes on bit for bit, before and after buckets are cut anew") {
    static test::Sample sample(2);
    const std::string parallel = GENERATE(kDdp3, kStatic, kFsdp4, kZero1, kPpDdp);
    const int saved = GENERATE(1, 2, 3);
    if (!sample.takes()) return;
    INFO(parallel << saved);
    const test::Folder folder;
    const auto whole = run_at(text(6, parallel), folder);
    run_at(text(saved, parallel, "folder = \"a\"\n"), folder);
    const auto resumed = run_at(text(6, parallel, "resume = \"a\"\n"), folder);
    CHECK(resumed.trace->info.losses == whole.trace->info.losses);
    check_same_parameters(resumed, whole);
}

TEST_CASE("buckets that follow the parameters' order stay, whatever another run of DDP learned") {
    const test::Folder folder;
    const std::string unused = kDdp3 + "find_unused_parameters = true\n";
    const std::string from = GENERATE(kDdp3, kStatic);
    run_at(text(3, from, "folder = \"a\"\n"), folder);
    const auto resumed = run_at(text(5, unused, "resume = \"a\"\n"), folder);
    const auto anew = run_at(text(5, unused), folder);
    CHECK(collectives(resumed, "ddp.rebuild.order") == 0);
    CHECK(5 * collectives(resumed, "ddp.bucket.all_reduce") ==
          2 * collectives(anew, "ddp.bucket.all_reduce"));
}

TEST_CASE(
    "ranks that drop all they have and go on from what was just saved train as if nothing had happened") {
    static test::Sample sample(3);
    const std::string parallel = GENERATE(kSingle, kDdp3, kFsdp4, kHsdp, kFsdp1, kZero1, kZero2, kFsdpTp,
                                          kPpDdp, kPpZero, kDp, kOffload, kStatic, kMixedDdp, kMixedZero2);
    const std::string kind = GENERATE("sharded", "rank0");
    if (!sample.takes()) return;
    INFO(parallel << kind);
    const test::Folder folder;
    const auto whole = run_at(text(6, parallel), folder);
    const auto restarted =
        run_at(text(6, parallel, "temporary = true\nrestart_after = 3\nkind = \"" + kind + "\"\n"), folder);
    CHECK(restarted.trace->info.losses == whole.trace->info.losses);
    CHECK(restarted.trace->info.grad_norms == whole.trace->info.grad_norms);
    check_same_parameters(restarted, whole);
    CHECK(folder.files() == 0);  // saved elsewhere
    // Once for the restart, which nothing else asked to be saved, and once at the end.
    CHECK(collectives(restarted, "checkpoint.barrier") == (parallel == kSingle ? 0 : 2));
    // AdamW's two numbers a parameter are made again: what was there before is free.
    int64_t made = 0, left = 0;
    for (const trace::MemoryChange& change : restarted.trace->ranks[0].memory)
        if (change.category == MemoryCategory::optimizer_state) {
            made += std::max<int64_t>(0, change.delta_bytes);
            left += change.delta_bytes;
        }
    CHECK(made == 2 * left);
}

TEST_CASE("a temporary checkpoint lies where the starting process says, and processes need to be told") {
    const test::Folder folder;
    run::RunOptions options;
    options.temporary_folder = folder.file("own");
    run_at(text(4, kFsdp4, "temporary = true\nevery = 2\n"), folder, options);
    CHECK(open(folder.file("own/step_000002"), text(5, kFsdp4)).manifest().steps == 2);
    CHECK(run::checkpoint::complete_checkpoints(folder.file("own")).size() == 2);
    options.temporary_folder.clear();
    options.backend = "tcp";
    CHECK(test::thrown_id([&] { run_at(text(4, kFsdp4, "temporary = true\n"), folder, options); }) ==
          "checkpoint.temporary_needs_folder");
}

TEST_CASE("a pipeline's checkpoint keeps, stage by stage, the order in which DDP's gradients arrived") {
    for (const auto& [parallel, stages_on] : {std::pair(kPpDdp, 1), std::pair(kPpTp, 2)}) {
        INFO(parallel);
        const test::Folder folder;
        run_at(text(5, parallel, "folder = \"a\"\n"), folder);
        const Checkpoint saved = open(folder.file("a"), text(6, parallel));
        // Two stages of one layer each, whose backward reaches down before up and a bias before its weight:
        // parameters 3 and 2, then 1 and 0.
        CHECK(saved.manifest().strategy_state ==
              std::vector<int64_t>{2, 0, 4, 3, 2, 1, 0, 2, 1, 4, 3, 2, 1, 0});
        CHECK(saved.manifest().strategy == "ddp, 2 stages");
        // The buckets are cut before the first step, not after it: each stage's own.
        const auto resumed = run_at(text(6, parallel, "resume = \"a\"\n"), folder);
        CHECK(collectives(resumed, "ddp.rebuild.order") == 2 * stages_on);
        CHECK(collectives(resumed, "ddp.bucket.all_reduce") > stages_on);
    }
}

TEST_CASE("what one strategy saved on its ranks another loads on its own, bit for bit") {
    static test::Sample sample(3);
    const std::string from = GENERATE(kSingle, kDdp3, kFsdp4, kFsdp8, kHsdp, kFsdp1, kZero1, kZero2, kTp,
                                      kFsdpTp, kPpDdp, kPpZero, kPpTp, kDp, kOffload, kStatic);
    const std::string kind = GENERATE("sharded", "rank0");
    if (!sample.takes()) return;
    const test::Folder folder;
    const auto trained = run_at(text(5, from, "folder = \"a\"\nkind = \"" + kind + "\"\n"), folder);
    const std::string later = text(6, kSingle);
    const Checkpoint saved = open(folder.file("a"), later);
    CHECK(saved.manifest().tensors.size() == 3 * trained.parameters.size());
    for (const run::NamedArray& array : trained.parameters)
        CHECK(saved.whole("model." + array.name) == array.numbers);

    int n = 0;
    for (const std::string& to : {kSingle, kDdp3, kFsdp4, kFsdp3, kFsdp8, kHsdp, kFsdp1, kZero1, kZero2, kTp,
                                  kFsdpTp, kDp, kOffload}) {
        INFO(kind << ": " << from << " -> " << to);
        ++n;
        if (test::kSanitizer && (static_cast<std::size_t>(n) + from.size()) % 3 != 0) continue;
        // Stopped before its first step, a resumed run hands over what it loaded, and saves it its own way.
        const std::atomic<bool> stop{true};
        run::RunOptions options;
        options.cancel = &stop;
        const std::string other = "b" + std::to_string(n);
        const auto loaded =
            run_at(text(6, to, "folder = \"" + other + "\"\nresume = \"a\"\n"), folder, options);
        CHECK(loaded.trace->info.losses == trained.trace->info.losses);
        check_same_parameters(loaded, trained);
        check_same_state(open(folder.file(other), later), saved);
    }
}

TEST_CASE("a sharded checkpoint names every box, those of ranks that hold no row too") {
    const test::Folder folder;
    run_at(text(1, kFsdp8, "folder = \"a\"\n"), folder);
    const Checkpoint saved = open(folder.file("a"), text(2, kFsdp8));
    CHECK(saved.manifest().files.size() == 8);
    CHECK(saved.manifest().world_size == 8);
    CHECK(saved.manifest().strategy == "fsdp2");
    const auto* up = saved.manifest().find("model.layers.0.up.weight");  // 10 rows of 6 on 8 ranks
    REQUIRE(up != nullptr);
    REQUIRE(up->chunks.size() == 8);
    CHECK(up->chunks[1].chunk == run::checkpoint::Chunk{{2, 0}, {2, 6}});
    CHECK(up->chunks[4].chunk == run::checkpoint::Chunk{{8, 0}, {2, 6}});
    CHECK(up->chunks[5].chunk == run::checkpoint::Chunk{{10, 0}, {0, 6}});

    // Under DDP one rank answers for all.
    run_at(text(1, kDdp3, "folder = \"b\"\n"), folder);
    CHECK(open(folder.file("b"), text(2, kDdp3)).manifest().files.size() == 1);
}

TEST_CASE("rank 0 gathers what others hold, and nothing where it holds all") {
    const test::Folder folder;
    const std::string kind = "kind = \"rank0\"\n";
    const auto fsdp = run_at(text(1, kFsdp4, "folder = \"a\"\n" + kind), folder);
    CHECK(collectives(fsdp, "checkpoint.gather") == 3 * 8);  // 8 parameters and their two moments
    const auto ddp = run_at(text(1, kDdp3, "folder = \"b\"\n" + kind), folder);
    CHECK(collectives(ddp, "checkpoint.gather") == 0);
    CHECK(collectives(ddp, "checkpoint.barrier") == 1);
}

TEST_CASE("a mesh smaller than the world saves and resumes too") {
    const test::Folder folder;
    const std::string parallel = "[mesh]\nshape = [2]\nworld = 3\n[parallel]\ndata = \"fsdp2\"\n";
    const auto whole = run_at(text(4, parallel), folder);
    run_at(text(2, parallel, "folder = \"a\"\n"), folder);
    check_same_parameters(run_at(text(4, parallel, "resume = \"a\"\n"), folder), whole);
}

TEST_CASE("checkpoints come every so many steps and after the last, and the oldest go") {
    const test::Folder folder;
    run_at(text(7, kFsdp4, "folder = \"a\"\nevery = 2\n"), folder);
    const auto names = [&](const char* in) {
        std::string all;
        for (const std::string& path : run::checkpoint::complete_checkpoints(folder.file(in)))
            all += path.substr(path.rfind('_') + 1) + " ";
        return all;
    };
    CHECK(names("a") == "000002 000004 000006 000007 ");
    run_at(text(7, kFsdp4, "folder = \"b\"\nevery = 2\nkeep = 2\n"), folder);
    CHECK(names("b") == "000006 000007 ");
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path / "b"), {}) == 2);
    run_at(text(3, kFsdp4, "folder = \"d\"\n"), folder);
    CHECK(names("d") == "000003 ");
    // Going on from an older one replaces what lies ahead.
    run_at(text(7, kFsdp4, "folder = \"a\"\nevery = 2\nresume = \"a/step_000002\"\n"), folder);
    CHECK(names("a") == "000002 000004 000006 000007 ");
    CHECK(run::checkpoint::find_checkpoint(folder.file("a")) == folder.file("a/step_000007"));
    // Also where it is shorter, or saves other steps, or keeps few: the newest are its own.
    const auto shorter =
        run_at(text(5, kFsdp4, "folder = \"a\"\nevery = 3\nkeep = 2\nresume = \"a/step_000002\"\n"), folder);
    CHECK(names("a") == "000003 000005 ");
    check_same_parameters(run_at(text(6, kFsdp4, "folder = \"e\"\nresume = \"a\"\n"), folder),
                          run_at(text(6, kFsdp4, ""), folder));
    CHECK(shorter.trace->info.losses.size() == 5);
}

TEST_CASE("a folder is one run's while it saves there, from its first step or its first checkpoint on") {
    const test::Folder folder;
    const std::string a = folder.file("a");
    run_at(text(2, kFsdp4, "folder = \"a\"\n"), folder);
    {
        run::checkpoint::FolderLock other;
        other.take(a);
        CHECK(other.taken());
        other.take(a);
        CHECK(test::thrown_id([&] { run_at(text(4, kFsdp4, "folder = \"a\"\nresume = \"a\"\n"), folder); }) ==
              "checkpoint.folder_taken");
        CHECK(run::checkpoint::complete_checkpoints(a) == std::vector<std::string>{a + "/step_000002"});
    }
    run_at(text(4, kFsdp4, "folder = \"a\"\nresume = \"a\"\n"), folder);
    CHECK(run::checkpoint::find_checkpoint(a) == a + "/step_000004");
    // A folder that another run makes meanwhile, and what that one has not finished, stay as they are.
    const std::string b = folder.file("b"), theirs = b + "/step_000007.tmp";
    run::checkpoint::FolderLock other;
    run::RunOptions options;
    options.progress = [&](int32_t done, int32_t, double) {
        if (done != 1) return;
        std::filesystem::create_directories(theirs);
        other.take(b);
    };
    CHECK(test::thrown_id([&] { run_at(text(3, kFsdp4, "folder = \"b\"\n"), folder, options); }) ==
          "checkpoint.folder_taken");
    CHECK(std::filesystem::exists(theirs));
}

TEST_CASE("a run goes on beside another's checkpoints in no folder") {
    const test::Folder folder;
    run_at(text(2, kFsdp4, "folder = \"a\"\n"), folder);
    run_at(text(4, kFsdp4, "folder = \"b\"\n"), folder);
    CHECK(test::thrown_id([&] { run_at(text(3, kFsdp4, "folder = \"b\"\nresume = \"a\"\n"), folder); }) ==
          "checkpoint.folder_in_use");
    CHECK(run::checkpoint::find_checkpoint(folder.file("b")) == folder.file("b/step_000004"));
}

TEST_CASE("what a checkpoint cannot continue is refused when a caller asks to resume, too") {
    const test::Folder folder;
    const std::string ddp = "[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\n";
    run_at(text(2, ddp, "folder = \"a\"\n"), folder);
    const auto refusal = [&](const std::string& toml) {
        run::RunOptions options;
        options.resume = folder.file("a");
        return test::thrown_id([&] {
            run::run_scenario(scenario::parse_scenario(toml, "s.toml"), *backends::make_registry(), options);
        });
    };
    const std::string train = "format = 1\n[model]\nkind = \"toy\"\n[train]\nsteps = 4\nglobal_batch = 8\n";
    CHECK(refusal(train + ddp + "ddp_hook = \"powersgd\"\n[parallel.powersgd]\nstart_iteration = 2\n") ==
          "scenario.powersgd_checkpoint");
    CHECK(refusal(train + ddp + "join = true\n[data]\nbatches = [4, 2]\n") == "scenario.join_checkpoint");
}
