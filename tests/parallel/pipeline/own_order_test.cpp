// [parallel] schedule_order: the schedule's actions in another order, checked and really run.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/parallel/pipeline/own_order.h"
#include "core/run/summary.h"
#include "core/scenario/scenario.h"
#include "tests/parallel/train_helper.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::test;
using namespace meshscope::parallel::pipeline;

namespace {

using OrderRows = std::vector<std::string>;

std::string order_scenario(const std::string& parallel) {
    return "format = 1\n[model]\nkind = \"mlp\"\ndim = 4\nhidden = 6\nlayers = 4\nseed = 7\n[data]\nkind = "
           "\"regression\"\nseed = 3\n[train]\nsteps = 3\nglobal_batch = 16\n[optimizer]\nkind = "
           "\"adamw\"\nlr = "
           "0.003\n" +
           parallel;
}

/// `rows` empty: the schedule's own.
std::string staged(int ranks, const std::string& schedule, const OrderRows& rows) {
    std::string text = "[mesh]\nshape = [" + std::to_string(ranks) +
                       "]\nnames = [\"pp\"]\n[parallel]\nmicrobatches = 4\nschedule = \"" + schedule + "\"\n";
    if (rows.empty()) return text;
    text += "schedule_order = [";
    for (const std::string& row : rows) text += "\"" + row + "\", ";
    return text + "]\n";
}
std::string two_stages(const OrderRows& rows) {
    return staged(2, "1F1B", rows);
}

/// All forwards, then the backwards from the last one: GPipe's picture, with another order of sums.
const OrderRows kForwardsFirst{"0F0, 0F1, 0F2, 0F3, 0B3, 0B2, 0B1, 0B0",
                               "1F0, 1F1, 1F2, 1F3, 1B3, 1B2, 1B1, 1B0"};

std::vector<Diagnostic> order_mistakes(const std::string& parallel) {
    try {
        scenario::parse_scenario(order_scenario(parallel), "x.toml");
    } catch (const InputError& error) {
        return error.diagnostics();
    }
    return {};
}

std::string first_mistake(const OrderRows& rows) {
    const auto found = order_mistakes(two_stages(rows));
    return found.empty() ? std::string() : found.front().message.id;
}

/// "F0 F1 B0 …" of a rank in the run's first step, as recorded.
std::string recorded_order(const trace::Trace& trace, std::size_t rank) {
    std::string order, last;
    for (const trace::Event& event : trace.ranks[rank].events) {
        const bool counts = event.step == 0 && event.kind == trace::EventKind::compute &&
                            (event.phase == Phase::forward || event.phase == Phase::backward);
        if (!counts) continue;
        const std::string word =
            (event.phase == Phase::forward ? "F" : "B") + std::to_string(event.microbatch);
        if (word != last) order += (order.empty() ? "" : " ") + word;
        last = word;
    }
    return order;
}

}  // namespace

TEST_CASE("rows of a schedule's order are read and written in PyTorch's words") {
    const std::vector<Slot> row = parse_row("0F0,0F1 , ,1I0,1W0,(0F7;7B3)OVERLAP_F_B");
    REQUIRE(row.size() == 5);
    CHECK(row_text(row) == "0F0, 0F1, 1I0, 1W0, (0F7;7B3)OVERLAP_F_B");
    CHECK(parse_row("").empty());
    CHECK_THROWS_AS(parse_row("0F0, X"), InvalidArgument);
    CHECK_THROWS_AS(parse_row("0F0, 0SEND_F0"), InvalidArgument);
}

TEST_CASE("an order of one's own is really run, and trains as the schedule's own does") {
    const auto usual = run_text(order_scenario(two_stages({})));
    const auto other = run_text(order_scenario(two_stages(kForwardsFirst)));
    CHECK(recorded_order(*usual.trace, 0) == "F0 F1 B0 F2 B1 F3 B2 B3");
    CHECK(recorded_order(*other.trace, 0) == "F0 F1 F2 F3 B3 B2 B1 B0");
    CHECK(recorded_order(*other.trace, 1) == "F0 F1 F2 F3 B3 B2 B1 B0");
    // The gradients of micro-batches are added up in another order: equal but for rounding, and
    // whether the last bit shows in a loss depends on the processor and the compiler's options.
    check_equal(other, usual);
}

TEST_CASE("an order that keeps that of the backwards trains bit for bit as the schedule's own") {
    const auto usual = run_text(order_scenario(two_stages({})));
    // Written out, and with rank 1's last forwards earlier.
    for (const char* last :
         {"1F0, 1B0, 1F1, 1B1, 1F2, 1B2, 1F3, 1B3", "1F0, 1F1, 1B0, 1F2, 1F3, 1B1, 1B2, 1B3"}) {
        const auto same =
            run_text(order_scenario(two_stages({"0F0, 0F1, 0B0, 0F2, 0F3, 0B1, 0B2, 0B3", last})));
        CHECK(same.trace->info.losses == usual.trace->info.losses);
        CHECK(recorded_order(*same.trace, 0) == "F0 F1 B0 F2 F3 B1 B2 B3");
    }
}

TEST_CASE("every schedule takes its own order written out, and one with a block in another place") {
    for (int kind = 0; kind < kScheduleKinds; ++kind) {
        const std::string schedule(kScheduleNames[static_cast<std::size_t>(kind)]);
        const ScheduleShape shape{static_cast<ScheduleKind>(kind), 2,
                                  default_stages_per_rank(static_cast<ScheduleKind>(kind)), 4};
        Order order = pairs_apart(make_schedule(shape)).order;
        const auto rows = [&] {
            OrderRows text;
            for (const auto& row : order) text.push_back(row_text(row));
            return text;
        };
        CAPTURE(schedule);
        const auto usual = run_text(order_scenario(staged(2, schedule, {})));
        const auto same = run_text(order_scenario(staged(2, schedule, rows())));
        CHECK(same.trace->info.losses == usual.trace->info.losses);
        // The last row's first action of the last forward may wait for nothing: some swap is possible.
        bool moved = false;
        for (auto& row : order)
            for (std::size_t i = 1; !moved && i < row.size(); ++i) {
                std::swap(row[i - 1], row[i]);
                moved = row[i - 1] && row[i] && faults_of_order(shape, order).empty();
                if (!moved) std::swap(row[i - 1], row[i]);
            }
        REQUIRE(moved);
        check_equal(run_text(order_scenario(staged(2, schedule, rows()))), usual);
    }
}

TEST_CASE("an order that ranks cannot work through is refused with its reason") {
    const auto with = [](std::size_t row, const std::string& text) {
        OrderRows rows = kForwardsFirst;
        rows[row] = text;
        return first_mistake(rows);
    };
    CHECK(first_mistake(kForwardsFirst).empty());
    CHECK(first_mistake({kForwardsFirst[0]}) == "pipeline.order_rows");
    CHECK(with(0, "0F0, 0F1, 0F2, 0F3, 0B3, 0B2, 0B1") == "pipeline.missing");
    CHECK(with(0, "0F0, 0F0, 0F1, 0F2, 0F3, 0B3, 0B2, 0B1, 0B0") == "pipeline.twice");
    CHECK(with(0, "0F0, nonsense") == "pipeline.bad_action");
    CHECK(with(0, "0F0, 0F1, 0F2, 0F3, 0SEND_F3, 0B3, 0B2, 0B1, 0B0") == "pipeline.order_compute");
    CHECK(with(0, "0F0, 0F1, 0F2, 0F4, 0B3, 0B2, 0B1, 0B0") == "pipeline.no_such_microbatch");
    CHECK(with(0, "0F0, 0F1, 0F2, 2F3, 0B3, 0B2, 0B1, 0B0") == "pipeline.no_such_stage");
    CHECK(with(0, "0F0, 0F1, 0F2, 0F3, 1B3, 0B3, 0B2, 0B1, 0B0") == "pipeline.wrong_rank");
    CHECK(with(1, "1B0, 1F0, 1F1, 1F2, 1F3, 1B3, 1B2, 1B1") == "pipeline.too_early");
    CHECK(with(0, "0F0, 0F1, 0F2, 0F3, 0I3, 0W3, 0B2, 0B1, 0B0") == "pipeline.order_kind");
    const auto wrong = order_mistakes(two_stages({kForwardsFirst[0], "1F0, 1F1, 1F2, 1F3, 1B3, 1B2, 1B1"}));
    REQUIRE(wrong.size() == 1);
    CHECK(wrong[0].message.id == "pipeline.missing");
    CHECK(wrong[0].position.column > 50);  // the second row
}

TEST_CASE(
    "of a deadlock the ranks that wait for each other are told, and not those that wait for one of them") {
    // Rank 0 wants its first gradient before it sends what rank 1 needs for it; rank 2 waits behind them.
    const OrderRows rows{"0F0, 0B0, 0F1, 0F2, 0F3, 0B1, 0B2, 0B3", "1F0, 1F1, 1B0, 1F2, 1B1, 1F3, 1B2, 1B3",
                         "2F0, 2F1, 2B0, 2F2, 2B1, 2F3, 2B2, 2B3"};
    const auto found = order_mistakes(staged(3, "GPipe", rows));
    REQUIRE(found.size() == 2);
    for (const Diagnostic& mistake : found) {
        CHECK(mistake.message.id == "pipeline.deadlock");
        CHECK_FALSE(mistake.hint.id.empty());
    }
    Order order;
    for (const std::string& row : rows) order.push_back(parse_row(row));
    const auto circle = circle_of({ScheduleKind::gpipe, 3, 1, 4}, order);
    REQUIRE(circle.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) CHECK(circle[i].other == circle[1 - i].rank);
    const auto& first = circle[circle[0].rank == 0 ? 0 : 1];
    CHECK(first.action == "0B0");
    CHECK(first.waits_for == "1B0");
}

TEST_CASE("of halved backwards a rank waits for the half that is needed") {
    const ScheduleShape shape{ScheduleKind::zbv_zero_bubble, 2, 2, 4};
    Order order = pairs_apart(make_schedule(shape)).order;
    for (auto& row : order) std::erase_if(row, [](const Slot& slot) { return !slot; });
    // Rank 1's first backward behind all else that it does.
    auto& row = order[1];
    const auto first =
        std::ranges::find_if(row, [](const Slot& slot) { return slot->kind != ActionKind::forward; });
    const std::string needed = to_text(*first);
    std::rotate(first, first + 1, row.end());
    const auto faults = faults_of_order(shape, order);
    REQUIRE_FALSE(faults.empty());
    for (const Stuck& stuck : circle_of(shape, order)) CHECK(stuck.waits_for.find("B") == std::string::npos);
}

TEST_CASE("an order needs a schedule, and one with rows") {
    const auto alone = order_mistakes(
        "[mesh]\nshape = [2]\nnames = [\"replicate\"]\n[parallel]\ndata = \"ddp\"\nschedule_order = [\"0F0\"]\n");
    REQUIRE_FALSE(alone.empty());
    CHECK(alone.front().message.id == "scenario.key_needs_schedule");
    const auto empty = order_mistakes(
        "[mesh]\nshape = [2]\nnames = [\"pp\"]\n[parallel]\nmicrobatches = 4\nschedule = "
        "\"GPipe\"\nschedule_order = []\n");
    REQUIRE(empty.size() == 1);
    CHECK(empty.front().message.id == "scenario.order_none");
}

TEST_CASE("what is in flight at most is counted in the order that there is") {
    Order order;
    for (const std::string& row : kForwardsFirst) order.push_back(parse_row(row));
    CHECK(most_in_flight(order) == 4);
    CHECK(most_in_flight(make_schedule({ScheduleKind::one_f_one_b, 2, 1, 4}).order) == 2);
}
