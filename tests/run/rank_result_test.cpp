// What a rank hands over: as bytes from a process to rank 0, and merged with what the others made.
#include "core/run/rank_result.h"

#include <map>
#include <utility>

#include "backends/registry.h"
#include "core/base/error.h"
#include "core/run/merge.h"
#include "core/run/recover.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;

namespace {

scenario::Scenario scenario_of(const std::string& rest) {
    return scenario::parse_scenario(
        "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 1\nseed = 7\n[data]\nseed = 3\n"
        "[train]\nsteps = 2\nglobal_batch = 8\n[optimizer]\nkind = \"sgd\"\nlr = 0.1\n" +
            rest,
        "s.toml");
}

const std::string kShard2 = "[mesh]\nshape = [2]\nnames = [\"shard\"]\n[parallel]\ndata = \"fsdp2\"\n";

run::RunPlan plan_of(const std::string& rest = kShard2) {
    return run::plan_run(scenario_of(rest), {});
}

/// Rows [first, first + rows) of the model's first parameter, which is a matrix, each number its place.
run::ParameterPart rows_of_first(const run::RunPlan& plan, int64_t first, int64_t rows) {
    const nn::Shape& shape = plan.inputs->model->all_parameters()[0]->shape;
    const int64_t row = shape[1];
    run::ParameterPart part{0, shape, {}, first * row, {}};
    for (int64_t i = 0; i < rows * row; ++i) part.numbers.push_back(static_cast<float>(first * row + i));
    return part;
}

run::RankResult full_result(const run::RunPlan& plan) {
    run::RankResult result;
    result.record.strings.emplace_back("a text");
    result.losses = {1.5, 0.5};
    result.grad_norms = {2.0, 3.0};
    result.evaluations = {{1, 0.25, 10}};
    result.wall_ns = 42;
    result.part_failure = Message{"file.cannot_write", {{"path", std::string("p")}, {"errno", int64_t{28}}}};
    result.parts.push_back(rows_of_first(plan, 1, 2));
    return result;
}

/// Why rank 0 would not take these bytes.
std::string refusal(const run::RankResult& sent, const run::RunPlan& plan) {
    const std::vector<std::byte> bytes = run::pack(sent);
    return test::thrown_id<InvalidArgument>([&] { run::unpack_rank_result(bytes, plan); });
}

}  // namespace

TEST_CASE("a rank's result travels whole, the failure of its part file with it") {
    const run::RunPlan plan = plan_of();
    const run::RankResult sent = full_result(plan);
    const std::vector<std::byte> bytes = run::pack(sent);
    const run::RankResult got = run::unpack_rank_result(bytes, plan);
    CHECK(got.record.strings == sent.record.strings);
    CHECK(got.losses == sent.losses);
    CHECK(got.grad_norms == sent.grad_norms);
    REQUIRE(got.evaluations.size() == 1);
    CHECK(got.evaluations[0].loss == 0.25);
    CHECK(got.wall_ns == 42);
    REQUIRE(got.part_failure);
    CHECK(describe(*got.part_failure) == describe(*sent.part_failure));
    REQUIRE(got.parts.size() == 1);
    CHECK(got.parts[0].first_element == sent.parts[0].first_element);
    CHECK(got.parts[0].numbers == sent.parts[0].numbers);
    CHECK_FALSE(got.not_finite);
    CHECK(run::pack(got) == bytes);
}

TEST_CASE("bytes that no rank sent are refused: cut, changed, or of a part that fits nowhere") {
    const run::RunPlan plan = plan_of();
    const run::RankResult good = full_result(plan);
    REQUIRE(refusal(good, plan) == "nothing thrown");
    const std::vector<std::byte> bytes = run::pack(good);
    const auto refused = [&](const std::vector<std::byte>& changed) {
        return test::thrown_id<InvalidArgument>([&] { run::unpack_rank_result(changed, plan); }) ==
               "pack.damaged";
    };
    for (std::size_t n = 0; n < bytes.size(); n += 7)
        CHECK(refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)}));
    for (std::size_t i = 0; i < bytes.size(); i += 5) {
        std::vector<std::byte> changed = bytes;
        changed[i] ^= std::byte{0x10};
        CHECK(refused(changed));
    }

    using Change = void (*)(run::RankResult&);
    const std::vector<Change> changes{
        [](run::RankResult& r) { r.parts[0].whole_index = 1000; },
        [](run::RankResult& r) { r.parts[0].whole_index = -1; },
        [](run::RankResult& r) {
            r.parts[0].shape = {5, 4};
        },
        [](run::RankResult& r) { r.parts[0].first_element = 1 << 20; },
        [](run::RankResult& r) { r.parts[0].first_element = -1; },
        [](run::RankResult& r) { r.parts[0].numbers.resize(1000); },
        [](run::RankResult& r) {
            r.parts[0].box = {r.parts[0].shape, 0, 1};  // one row too far down
        },
        [](run::RankResult& r) {
            r.parts[0].box = {r.parts[0].shape, 2, 0};
        },
        [](run::RankResult& r) {
            r.never_came.push_back({0, 1});
        },                                                             // the scenario has no faults
        [](run::RankResult& r) { r.not_finite = run::NotFinite{}; }};  // nobody searched
    for (std::size_t i = 0; i < changes.size(); ++i) {
        INFO(i);
        run::RankResult changed = good;
        changes[i](changed);
        CHECK(refusal(changed, plan) == "pack.damaged");
    }
}

TEST_CASE("parts of ranks become the whole parameter, and a whole one stays where it is") {
    const run::RunPlan plan = plan_of();
    const nn::Shape shape = plan.inputs->model->all_parameters()[0]->shape;
    std::vector<run::RankResult> results(2);
    results[0].parts.push_back(rows_of_first(plan, 0, 2));
    results[1].parts.push_back(rows_of_first(plan, 2, shape[0] - 2));
    const run::RunResult joined = run::merge_run(plan, std::move(results));
    REQUIRE(joined.parameters.size() == plan.inputs->model->all_parameters().size());
    for (std::size_t i = 0; i < joined.parameters[0].numbers.size(); ++i)
        CHECK(joined.parameters[0].numbers[i] == static_cast<float>(i));
    CHECK(joined.parameters[0].shape == shape);

    std::vector<run::RankResult> one(2);
    one[1].parts.push_back(rows_of_first(plan, 0, shape[0]));
    const float* const numbers = one[1].parts[0].numbers.data();
    CHECK(run::merge_run(plan, std::move(one)).parameters[0].numbers.data() == numbers);
}

TEST_CASE("losses are the mean over the ranks that have one, of a failed run those of common steps") {
    const std::vector<double> a{1, 3, 5}, b{3, 5}, none;
    CHECK(run::mean_by_step({a, none, b}) == std::vector<double>{2, 4, 5});
    CHECK(run::mean_by_step(run::common_steps({a, none, b})) == std::vector<double>{2, 4});
    CHECK(run::mean_by_step({none, none}).empty());
}

TEST_CASE("what the processes of a failed run left is joined with every stretch that a message carried") {
    const auto scenario = scenario_of(
        "[mesh]\nshape = [4]\n[parallel]\ndata = \"ddp\"\nalgorithm = \"swing\"\n[record]\nlevel = "
        "\"hops\"\n");
    const auto whole = run::run_scenario(scenario, *backends::make_registry()).trace;
    std::size_t pieces = 0;
    for (const trace::RankTrace& rank : whole->ranks) pieces += rank.pieces.size();
    REQUIRE(pieces > 0);
    std::map<int32_t, trace::Trace> left;
    for (std::size_t r = 0; r < whole->ranks.size(); ++r) {
        trace::Trace part = *whole;
        for (std::size_t other = 0; other < part.ranks.size(); ++other)
            if (other != r) part.ranks[other] = {};
        left.emplace(static_cast<int32_t>(r), std::move(part));
    }
    std::map<int32_t, trace::Trace> without_one = left;
    without_one.erase(2);
    CHECK(whole->info.losses.size() > 0);
    CHECK(run::join_parts(std::move(without_one), "comm.peer_lost").info.losses.empty());
    const trace::Trace joined = run::join_parts(std::move(left), "comm.peer_lost");
    CHECK(joined.info.losses.size() == whole->info.losses.size());
    for (std::size_t r = 0; r < whole->ranks.size(); ++r) {
        CHECK(joined.ranks[r].hops.size() == whole->ranks[r].hops.size());
        CHECK(joined.ranks[r].pieces.size() == whole->ranks[r].pieces.size());
    }
}
