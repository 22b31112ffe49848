// What ranks append while a run lasts is what the run's trace holds.
#include "core/run/recover.h"

#include <filesystem>
#include <map>

#include "backends/registry.h"
#include "core/base/error.h"
#include "core/trace/ended.h"
#include "core/trace/part_file.h"
#include "core/trace/query.h"
#include "core/trace/recorded.h"
#include "tests/folder.h"
#include "tests/run/apart.h"
#include "tests/run/same_record.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;

namespace {

std::string text_of(const std::string& rest) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 6\nhidden = 10\nlayers = 2\nseed = 7\n[data]\nseed = "
           "3\n[train]\nsteps = 3\nglobal_batch = 24\nclip_norm = 1.0\n[optimizer]\nkind = \"adamw\"\nlr = "
           "0.01\n" +
           rest;
}

const std::vector<std::string> kStrategies{
    "[mesh]\nshape = [1]\n[parallel]\n",
    "[mesh]\nshape = [3]\n[parallel]\ndata = \"ddp\"\n",
    "[mesh]\nshape = [2, 2]\nnames = [\"replicate\", \"shard\"]\n[parallel]\ndata = \"fsdp2\"\n",
    "[mesh]\nshape = [2]\nnames = [\"tp\"]\n[parallel]\n",
    "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nschedule = \"1F1B\"\nmicrobatches = 4\n"};

/// What went on after the last step, when nothing more was appended, is left out of the whole.
trace::Trace up_to(const trace::Trace& whole, const trace::Trace& shorter) {
    trace::Trace cut = whole;
    for (std::size_t r = 0; r < cut.ranks.size(); ++r)
        cut.ranks[r].memory.resize(std::min(cut.ranks[r].memory.size(), shorter.ranks[r].memory.size()));
    return cut;
}

void check_same(const trace::Trace& recovered, const trace::Trace& whole) {
    CHECK(recovered.info.losses == whole.info.losses);
    CHECK(recovered.info.grad_norms == whole.info.grad_norms);
    CHECK(recovered.info.steps == whole.info.steps);
    CHECK(recovered.info.failure.find("run.recovered") != std::string::npos);
    CHECK(test::first_difference(recovered, up_to(whole, recovered)) == "");
    for (std::size_t r = 0; r < whole.ranks.size(); ++r) {
        CHECK(recovered.ranks[r].values == whole.ranks[r].values);
        CHECK(recovered.ranks[r].hops.size() == whole.ranks[r].hops.size());
        CHECK(recovered.ranks[r].memory.size() > 0);
    }
}

}  // namespace

TEST_CASE("what ranks append step by step, put together, is the trace of the run") {
    for (const std::string& strategy : kStrategies) {
        CAPTURE(strategy);
        const test::Folder folder;
        run::RunOptions options;
        options.parts = folder.file("t.mscope");
        const auto scenario = scenario::parse_scenario(text_of(strategy), "s.toml");
        const auto result = run::run_scenario(scenario, *backends::make_registry(), options);
        CHECK_FALSE(result.part_failure);
        const run::Recovered recovered = run::recover(options.parts);
        CHECK(recovered.missing.empty());
        CHECK(recovered.cut.empty());
        check_same(recovered.trace, *result.trace);
    }
}

TEST_CASE("ranks in processes of their own append too") {
    const test::Folder folder;
    run::RunOptions options;
    options.parts = folder.file("t.mscope");
    const auto scenario = scenario::parse_scenario(text_of(kStrategies[1]), "s.toml");
    const auto results = test::run_apart(scenario::world_size(scenario),
                                         [&](int32_t) { return std::pair{scenario, options}; });
    check_same(run::recover(options.parts).trace, *results[0].trace);
}

TEST_CASE("one lost part, one cut part and the parts of an older run are told and do no harm") {
    const test::Folder folder;
    run::RunOptions options;
    options.parts = folder.file("t.mscope");
    const auto scenario = scenario::parse_scenario(text_of(kStrategies[1]), "s.toml");
    const auto registry = backends::make_registry();
    run::run_scenario(scenario, *registry, options);
    const std::string stale = test::content(trace::part_path(options.parts, 2));
    const auto result = run::run_scenario(scenario, *registry, options);

    const std::string second = trace::part_path(options.parts, 1);
    std::filesystem::resize_file(second, std::filesystem::file_size(second) - 1);
    folder.write("t.mscope.rank-2.part", stale);
    const run::Left left = run::left_beside(options.parts);
    CHECK(left.parts == 2);
    CHECK(left.ranks == 3);
    CHECK(left.steps == 2);
    const run::Recovered recovered = run::recover(options.parts);
    CHECK(recovered.missing == std::vector<int32_t>{2});
    CHECK(recovered.cut == std::vector<int32_t>{1});
    CHECK(recovered.trace.info.steps == 2);  // as far as the cut one came
    CHECK(recovered.trace.ranks[0].events.size() == result.trace->ranks[0].events.size());
    CHECK(recovered.trace.ranks[1].events.size() < result.trace->ranks[1].events.size());
    CHECK(recovered.trace.ranks[2].events.empty());
    // What is a mean or a sum over all ranks is unknown then, and so is what the missing one did.
    CHECK(recovered.trace.info.losses.empty());
    CHECK(recovered.trace.info.grad_norms.empty());
    CHECK(trace::unrecorded_ranks(recovered.trace) == std::vector<int32_t>{2});
    const trace::TraceDatabase database(recovered.trace);
    const auto ranks = database.query(
        "SELECT rank FROM ranks WHERE events IS NULL AND bytes IS NULL AND peak_bytes IS NULL");
    REQUIRE(ranks.rows.size() == 1);
    CHECK(std::get<int64_t>(ranks.rows[0][0]) == 2);
    CHECK(database.query("SELECT * FROM steps WHERE loss IS NULL AND bytes IS NULL").rows.size() == 2);
    // Whoever reads it is told how many of the steps that were asked for are whole, and not that it was
    // killed.
    const auto told = trace::early_end(recovered.trace.info, 3);
    REQUIRE(told);
    CHECK(told->id == "run.recovered_of");

    // A part under another rank's name.
    std::filesystem::rename(trace::part_path(options.parts, 0), trace::part_path(options.parts, 2));
    CHECK(test::thrown_id<InputError>([&] { run::recover(options.parts); }) == "part.foreign");
    trace::remove_parts(options.parts, 3);
    CHECK(test::thrown_id<InputError>([&] { run::recover(options.parts); }) == "run.no_parts");
}

TEST_CASE("a part in which nothing is whole is a missing one: the others' losses are not the run's") {
    const test::Folder folder;
    run::RunOptions options;
    options.parts = folder.file("t.mscope");
    run::run_scenario(scenario::parse_scenario(text_of(kStrategies[1]), "s.toml"), *backends::make_registry(),
                      options);
    const std::string second = trace::part_path(options.parts, 1);
    while (!trace::read_part(second).record.events.empty())
        std::filesystem::resize_file(second, std::filesystem::file_size(second) * 9 / 10);
    const run::Left left = run::left_beside(options.parts);
    const run::Recovered recovered = run::recover(options.parts);
    CHECK(recovered.missing == std::vector<int32_t>{1});
    CHECK(trace::unrecorded_ranks(recovered.trace) == std::vector<int32_t>{1});
    CHECK(recovered.trace.info.losses.empty());
    CHECK(recovered.trace.info.steps == left.steps);
    CHECK(left.parts == 3);
    CHECK_FALSE(left.empty);
}

TEST_CASE("plain calls are appended call by call") {
    const test::Folder folder;
    run::RunOptions options;
    options.parts = folder.file("t.mscope");
    const auto scenario = scenario::parse_scenario(
        "format = 1\n[mesh]\nshape = [2]\n[[call]]\nop = \"all_reduce\"\nelements = 4\n"
        "[[call]]\nop = \"all_gather\"\nelements = 2\n",
        "s.toml");
    const auto result = run::run_scenario(scenario, *backends::make_registry(), options);
    const run::Recovered recovered = run::recover(options.parts);
    CHECK(recovered.trace.info.steps == 1);
    CHECK(recovered.trace.ranks[1].values == result.trace->ranks[1].values);
    CHECK(recovered.trace.ranks[0].events.size() == 2);
}

TEST_CASE("of ranks that tell of one failure, the one that has its diagnosis is heard") {
    const std::string told = R"({"id":"diagnosis.mismatch","args":{}})",
                      judged = R"({"id":"diagnosis.mismatch","args":{},"diagnosis":{"kind":"mismatch"}})",
                      lost = R"({"id":"comm.peer_lost","args":{"peer":1}})";
    const auto heard = [](const std::vector<std::string>& failures) {
        std::map<int32_t, trace::Trace> parts;
        for (const std::string& failure : failures) {
            trace::Trace part;
            part.info.world_size = static_cast<int32_t>(failures.size());
            part.info.failure = failure;
            part.ranks.resize(failures.size());
            parts.emplace(static_cast<int32_t>(parts.size()), std::move(part));
        }
        return run::join_parts(std::move(parts), "diagnosis.mismatch").info.failure;
    };
    CHECK(heard({lost, told, judged, told}) == judged);
    CHECK(heard({lost, told, lost}) == told);
    CHECK(heard({lost, lost}) == lost);
}
