// A run that cannot fit into the memory there is is refused before it starts; one that fits never is.
#include "core/run/fit.h"

#include <algorithm>
#include <filesystem>

#include "backends/registry.h"
#include "core/base/error.h"
#include "core/memory/ledger.h"
#include "core/run/run.h"
#include "tests/test.h"
#include "tests/thrown.h"
#include "tests/tree.h"

using namespace meshscope;
using trace::Level;

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

std::string gpt(int64_t batch, const std::string& more = "", int64_t vocab = 32) {
    return "format = 1\n[model]\nkind = \"gpt\"\ndim = 32\nhidden = 64\nlayers = 2\nheads = 4\nvocab = " +
           std::to_string(vocab) + "\nseq = 16\n[train]\nsteps = 2\nglobal_batch = " + std::to_string(batch) +
           "\n[optimizer]\nkind = \"adamw\"\n" + (more.empty() ? "[mesh]\nshape = [2]\n" : more);
}

scenario::Scenario read(const std::string& text) {
    return scenario::parse_scenario(text, "s.toml");
}

std::string refusal(const scenario::Scenario& scenario, int64_t free_bytes, run::RunPlace place = {}) {
    return test::thrown_id([&] {
        run::require_fit(scenario, place, FreeMemory{free_bytes, MemoryBound::machine});
    });
}

/// The peaks of all ranks of a real run, added up.
int64_t peaks_of_run(const scenario::Scenario& scenario) {
    run::RunOptions options;
    options.level = Level::collectives;
    const auto result = run::run_scenario(scenario, *backends::make_registry(), options);
    int64_t bytes = 0;
    for (std::size_t r = 0; r < result.trace->ranks.size(); ++r)
        bytes += memory::peak(*result.trace, static_cast<int32_t>(r)).bytes;
    return bytes;
}

}  // namespace

TEST_CASE("a batch that no machine holds is refused, whatever its size, with both numbers") {
    for (const int64_t batch : {int64_t{4'000'000}, int64_t{800'000'000}, int64_t{2'147'483'646}}) {
        INFO(batch);
        try {
            run::require_fit(read(gpt(batch, "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n")), {},
                             FreeMemory{16 * kGiB, MemoryBound::machine});
            FAIL("not refused");
        } catch (const InvalidArgument& error) {
            CHECK(error.message().id == "run.does_not_fit");
            CHECK(std::get<int64_t>(*error.message().find("free_bytes")) == 16 * kGiB);
            CHECK(std::get<int64_t>(*error.message().find("need_bytes")) >
                  batch * 16 * 8 * 2);  // tokens alone
            CHECK(to_text(*error.message().find("free")) == "16 GiB");
        }
    }
}

TEST_CASE("what is predicted lies between what a run takes at least and what it surely does not exceed") {
    const std::vector<std::string> texts{
        gpt(64),
        gpt(512, "[mesh]\nshape = [2]\n[parallel]\ndata = \"ddp\"\n"),
        gpt(64, "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n"),
        gpt(64,
            "[mesh]\nshape = [2, 2]\nnames = [\"shard\", \"tp\"]\n[parallel]\ndata = \"fsdp2\"\n"
            "sequence_parallel = true\nloss_parallel = true\n"),
        gpt(64, "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nmicrobatches = 4\nschedule = \"1F1B\"\n"),
        gpt(64, "[mesh]\nshape = [2]\nnames = [\"cp\"]\n"),
        gpt(64, "", 4096),
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 64\nhidden = 256\nlayers = 3\n[train]\nsteps = 3\n"
        "global_batch = 256\n[mesh]\nshape = [4]\n[parallel]\ndata = \"zero3\"\n"};
    for (const std::string& text : texts) {
        INFO(text);
        const scenario::Scenario scenario = read(text);
        const int64_t measured = peaks_of_run(scenario);
        const int32_t ranks = scenario::world_size(scenario);
        CHECK(run::least_bytes(scenario, ranks) <= measured);
        CHECK(run::generous_bytes(scenario, {}) > measured);
        const run::MemoryNeed need = run::predicted_need(scenario, {});
        CHECK_FALSE(need.at_least);
        // All that is added is a few pages a rank.
        CHECK(static_cast<double>(need.bytes) <= static_cast<double>(measured) * 1.02 + ranks * 65536.0);
        CHECK(static_cast<double>(need.bytes) >= static_cast<double>(measured) * 0.98);
        CHECK(refusal(scenario, measured / 2) == "run.does_not_fit");
        CHECK(refusal(scenario, need.bytes) == "nothing thrown");
    }
}

TEST_CASE("every lesson fits into a quarter of a gigabyte, as it does when it runs") {
    for (const auto& entry : std::filesystem::directory_iterator(test::source_root() + "/scenarios")) {
        if (!std::filesystem::exists(entry.path() / "scenario.toml")) continue;
        INFO(entry.path().string());
        const scenario::Scenario scenario =
            scenario::read_scenario((entry.path() / "scenario.toml").string());
        CHECK(refusal(scenario, kGiB / 4, {"threads", 0, Level::values}) == "nothing thrown");
    }
}

TEST_CASE("what a run records counts: many steps of many ranks do not fit where one of them does") {
    scenario::Scenario scenario = read(gpt(64, "[mesh]\nshape = [8]\n[parallel]\ndata = \"fsdp2\"\n"));
    CHECK(refusal(scenario, kGiB, {"threads", 0, Level::collectives}) == "nothing thrown");
    scenario.steps = 1'000'000;
    CHECK(refusal(scenario, kGiB, {"threads", 0, Level::collectives}) == "run.does_not_fit");
    CHECK(refusal(scenario, kGiB, {"threads", 0, Level::off}) == "nothing thrown");
}

TEST_CASE("of processes those on this machine count, and a GPU's memory is the GPU's to tell of") {
    const scenario::Scenario scenario =
        read(gpt(40'000, "[mesh]\nshape = [8]\n[parallel]\ndata = \"ddp\"\n"));
    const int64_t all = run::predicted_need(scenario, {}).bytes;
    CHECK(refusal(scenario, all / 2, {"tcp", 8}) == "run.does_not_fit");
    CHECK(refusal(scenario, all / 2, {"tcp", 2}) == "nothing thrown");
    CHECK(refusal(scenario, all / 2, {"tcp", 0}) == "nothing thrown");  // the launcher does not say
    CHECK(refusal(scenario, all / 2, {"nccl", 8}) == "nothing thrown");
    CHECK(refusal(scenario, all / 2, {"cuda", 8}) == "nothing thrown");
}

TEST_CASE("plain calls of buffers that no machine holds are refused too") {
    const std::string text =
        "format = 1\n[mesh]\nshape = [4]\n[[call]]\nop = \"all_reduce\"\nelements = 16777216\n";
    CHECK(refusal(read(text), kGiB / 8) == "run.does_not_fit");  // 64 MiB on each of four ranks
    CHECK(refusal(read(text), kGiB) == "nothing thrown");
}

TEST_CASE("the hops of plain calls on many ranks count, as many as are recorded") {
    const auto calls = [](int32_t ranks) {
        return "format = 1\n[mesh]\nshape = [" + std::to_string(ranks) +
               "]\n[[call]]\nop = \"all_to_all\"\nelements = " + std::to_string(ranks) + "\n";
    };
    // 4,095 from each of the others, on all ranks.
    const int64_t hops = int64_t{4096} * 4095 * static_cast<int64_t>(sizeof(trace::Hop));
    CHECK(run::predicted_need(read(calls(4096)), {.level = Level::hops}).bytes >= hops);
    CHECK(run::predicted_need(read(calls(4096)), {.level = Level::collectives}).bytes < hops / 4);
    CHECK(refusal(read(calls(4096)), kGiB, {.level = Level::values}) == "run.does_not_fit");
    CHECK(refusal(read(calls(64)), kGiB, {.level = Level::values}) == "nothing thrown");
    const auto small = read(calls(16));
    run::RunOptions options;
    options.level = Level::hops;
    const auto result = run::run_scenario(small, *backends::make_registry(), options);
    std::size_t recorded = 0;
    for (const trace::RankTrace& rank : result.trace->ranks) recorded += rank.hops.size();
    const int64_t counted = run::predicted_need(small, {.level = Level::hops}).bytes -
                            run::predicted_need(small, {.level = Level::collectives}).bytes;
    CHECK(counted == static_cast<int64_t>(recorded * sizeof(trace::Hop)));
}

TEST_CASE("of addresses each process has its own, and stacks and libraries take some of them") {
    constexpr int64_t kMiB = int64_t{1} << 20;
    const scenario::Scenario scenario =
        read(gpt(40'000, "[mesh]\nshape = [8]\n[parallel]\ndata = \"ddp\"\n"));
    const int64_t all = run::predicted_need(scenario, {}).bytes;
    const auto refused = [&](int64_t left, const run::RunPlace& place) {
        return test::thrown_id([&] { run::require_process_fit(scenario, place, {left, false}); });
    };
    const std::string no = "run.does_not_fit_process", yes = "nothing thrown";
    CHECK(refused(all, {}) == no);  // eight stacks beside the tensors
    CHECK(refused(all * 2 + 1024 * kMiB, {}) == yes);
    CHECK(refused(all / 4 + 512 * kMiB, {"tcp", 8}) == yes);  // one of eight ranks
    CHECK(refused(all / 16, {"tcp", 8}) == no);
    CHECK(refused(all / 4 + 512 * kMiB, {"mpi", 8, Level::off, all}) == no);  // a large library
    CHECK(refused(0, {"cuda", 8}) == yes);
    try {
        run::require_process_fit(scenario, {}, {kMiB, true});
        FAIL("not refused");
    } catch (const InvalidArgument& error) {
        CHECK(*error.message().find("option") == MessageValue(std::string("ulimit -d")));
        CHECK(*error.message().find("free_bytes") == MessageValue(kMiB));
    }
}

TEST_CASE("each bound has its own words, and where nothing is known nothing is refused") {
    const scenario::Scenario scenario = read(gpt(800'000'000));
    const auto id = [&](MemoryBound bound) {
        return test::thrown_id([&] { run::require_fit(scenario, {}, FreeMemory{kGiB, bound}); });
    };
    CHECK(id(MemoryBound::cgroup) == "run.does_not_fit_cgroup");
    CHECK_NOTHROW(run::require_fit(scenario, {}, std::optional<FreeMemory>()));
}
