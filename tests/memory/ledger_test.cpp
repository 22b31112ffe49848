#include "core/memory/ledger.h"
#include "core/base/error.h"
#include "tests/test.h"
#include "tests/time/hand_made.h"

using meshscope::CollectiveOp;
using meshscope::kMemoryCategories;
using meshscope::MemoryCategory;
using meshscope::Phase;
using meshscope::test::HandMade;
namespace memory = meshscope::memory;

namespace {

void change(HandMade& made, int32_t after_event, int32_t step, uint64_t allocation, int64_t delta_bytes,
            MemoryCategory category, const std::string& label, int64_t t_ns = 0) {
    meshscope::trace::MemoryChange change;
    change.after_event = after_event;
    change.step = step;
    change.allocation = allocation;
    change.delta_bytes = delta_bytes;
    change.category = category;
    change.label = made.text(label);
    change.t_ns = t_ns;
    made.rank(0).memory.push_back(change);
}

/// One unit's life: 100 B of shard stay; step 0 gathers 200 B (with a 40 B buffer) and frees all; step 1 the
/// same with 60 B more of gradient, which stays.
HandMade one_unit() {
    HandMade made(1);
    const int32_t group = made.group({0});
    made.collective(0, CollectiveOp::all_gather, group, 0);  // event 0
    made.compute(0, 1);                                      // event 1
    made.collective(0, CollectiveOp::all_gather, group, 1);  // event 2
    made.compute(0, 1);                                      // event 3
    made.event(0, 0).unit = made.text("net1");
    made.event(0, 2).unit = made.text("net1");
    made.event(0, 2).phase = Phase::backward;
    made.event(0, 3).unit = made.text("layers.3");
    made.event(0, 3).name = made.text("linear.weight_grad");
    made.event(0, 3).phase = Phase::backward;
    made.event(0, 3).t_begin_ns = 900;
    made.event(0, 3).t_end_ns = 950;
    change(made, -1, -1, 1, 100, MemoryCategory::sharded_parameters, "net1.weight");
    change(made, -1, 0, 2, 40, MemoryCategory::communication, "all_gather net1");
    change(made, -1, 0, 3, 200, MemoryCategory::unsharded_parameters, "net1.weight (whole)");
    change(made, 0, 0, 2, -40, MemoryCategory::communication, "all_gather net1");
    change(made, 1, 0, 3, -200, MemoryCategory::unsharded_parameters, "net1.weight (whole)");
    change(made, 1, 1, 4, 200, MemoryCategory::unsharded_parameters, "net1.weight (whole)");
    change(made, 3, 1, 5, 60, MemoryCategory::gradients, "net1.weight grad", 920);
    change(made, 3, 1, 4, -200, MemoryCategory::unsharded_parameters, "net1.weight (whole)", 960);
    return made;
}

}  // namespace

TEST_CASE("the ledger adds changes up by category, each point's categories sum to its total") {
    const HandMade made = one_unit();
    const memory::Ledger ledger = memory::ledger(made.trace, 0);
    const std::vector<int64_t> totals = {100, 140, 340, 300, 100, 300, 360, 160};
    REQUIRE(ledger.points.size() == totals.size());
    for (size_t i = 0; i < totals.size(); ++i) {
        CHECK(ledger.points[i].total_bytes == totals[i]);
        int64_t sum = 0;
        for (const int64_t bytes : ledger.points[i].bytes) sum += bytes;
        CHECK(sum == totals[i]);
    }
    CHECK(ledger.points[2].bytes[static_cast<size_t>(MemoryCategory::unsharded_parameters)] == 200);
    CHECK(ledger.points[2].bytes[static_cast<size_t>(MemoryCategory::communication)] == 40);
    CHECK(ledger.points[3].after_event == 0);
    CHECK(ledger.points[3].step == 0);
}

TEST_CASE("the peak of a step is its first highest point, with its cause and what was alive, largest first") {
    const HandMade made = one_unit();
    const memory::Peak peak = memory::peak(made.trace, 0, 0);
    CHECK(peak.bytes == 340);
    CHECK(peak.point == 2);
    CHECK(peak.event == 0);  // the buffers are asked for before the collective is issued
    CHECK(peak.cause == "all_gather net1 forward");
    REQUIRE(peak.live.size() == 3);
    CHECK(peak.live[0].label == "net1.weight (whole)");
    CHECK(peak.live[0].bytes == 200);
    CHECK(peak.live[0].category == MemoryCategory::unsharded_parameters);
    CHECK(peak.live[1].bytes == 100);
    CHECK(peak.live[2].bytes == 40);
    CHECK(peak.by_category[static_cast<size_t>(MemoryCategory::sharded_parameters)] == 100);
}

TEST_CASE("memory that a kernel asks for while it runs belongs to that kernel") {
    const HandMade made = one_unit();
    const memory::Peak peak = memory::peak(made.trace, 0);
    CHECK(peak.bytes == 360);
    CHECK(peak.step == 1);
    CHECK(peak.event == 3);
    CHECK(peak.cause == "linear.weight_grad layers.3 backward");
    CHECK(memory::event_of_change(made.trace, 0, 5) == 2);  // before the second gather
    CHECK(memory::event_of_change(made.trace, 0, 7) == 3);  // after everything: the last event
}

TEST_CASE("of equal peaks the first counts, set-up is step -1, and a quiet step holds what was left") {
    const HandMade made = one_unit();
    CHECK(memory::peak(made.trace, 0, -1).bytes == 100);
    CHECK(memory::peak(made.trace, 0, 7).bytes == 160);
    CHECK(memory::peak(made.trace, 0, 7).step == 1);

    HandMade twice(1);
    change(twice, -1, 0, 1, 50, MemoryCategory::inputs, "x");
    change(twice, -1, 0, 1, -50, MemoryCategory::inputs, "x");
    change(twice, -1, 0, 2, 50, MemoryCategory::inputs, "y");
    const memory::Peak peak = memory::peak(twice.trace, 0);
    CHECK(peak.point == 0);
    CHECK(peak.event == -1);
    CHECK(peak.cause.empty());
    CHECK(peak.live.at(0).label == "x");
}

TEST_CASE("a rank that never held memory has an empty peak") {
    const HandMade made(1);
    CHECK(memory::peak(made.trace, 0).point == -1);
    CHECK(memory::peak(made.trace, 0).bytes == 0);
    CHECK(memory::ledger(made.trace, 0).points.empty());
}

TEST_CASE("what is alive sums to the ledger's total after every change, and the end equals what stays") {
    HandMade made(1);
    // A long made-up life: allocation i of size 8·(i mod 7 + 1) lives until i + 5 comes, in category i mod 9:
    // those of the device, which come first.
    const auto size = [](uint64_t i) { return static_cast<int64_t>(8 * (i % 7 + 1)); };
    const auto category = [](uint64_t i) { return static_cast<MemoryCategory>(i % (kMemoryCategories - 1)); };
    for (uint64_t i = 0; i < 60; ++i) {
        change(made, static_cast<int32_t>(i), 0, i, size(i), category(i), "t" + std::to_string(i));
        if (i >= 5) change(made, static_cast<int32_t>(i), 0, i - 5, -size(i - 5), category(i - 5), "");
    }
    const memory::Ledger ledger = memory::ledger(made.trace, 0);
    for (size_t i = 0; i <= ledger.points.size(); ++i) {
        int64_t alive = 0;
        memory::ByCategory by_category{};
        for (const auto& tensor : memory::live_at(made.trace, 0, static_cast<int64_t>(i))) {
            alive += tensor.bytes;
            by_category[static_cast<size_t>(tensor.category)] += tensor.bytes;
        }
        CHECK(alive == (i == 0 ? 0 : ledger.points[i - 1].total_bytes));
        if (i > 0) CHECK(by_category == ledger.points[i - 1].bytes);
    }
    CHECK(memory::live_at(made.trace, 0, static_cast<int64_t>(ledger.points.size())).size() == 5);
    CHECK(ledger.points.back().total_bytes == size(55) + size(56) + size(57) + size(58) + size(59));
}

TEST_CASE("offloaded tensors are counted in their category, and not in what the device holds") {
    HandMade made(1);
    change(made, -1, 0, 1, 64, MemoryCategory::offloaded, "shard");
    change(made, -1, 0, 2, 8, MemoryCategory::inputs, "x");
    change(made, -1, 0, 1, -64, MemoryCategory::offloaded, "");
    const memory::Ledger ledger = memory::ledger(made.trace, 0);
    const auto host = static_cast<std::size_t>(MemoryCategory::offloaded);
    CHECK(ledger.points[0].total_bytes == 0);
    CHECK(ledger.points[1].total_bytes == 8);
    CHECK(ledger.points[1].bytes[host] == 64);
    CHECK(ledger.points[2].bytes[host] == 0);
    const memory::Peak peak = memory::peak(made.trace, 0);
    CHECK(peak.bytes == 8);
    CHECK(peak.by_category[host] == 64);
    REQUIRE(peak.live.size() == 1);
    CHECK(peak.live[0].label == "x");
}

TEST_CASE("equal tensors stand in the order in which they came, and an address used again is a new tensor") {
    HandMade made(1);
    change(made, -1, 0, 1, 8, MemoryCategory::inputs, "first");
    change(made, -1, 0, 2, 8, MemoryCategory::inputs, "second");
    change(made, -1, 0, 1, -8, MemoryCategory::inputs, "");
    change(made, -1, 0, 1, 8, MemoryCategory::gradients, "third");
    const auto live = memory::live_at(made.trace, 0, 4);
    REQUIRE(live.size() == 2);
    CHECK(live[0].label == "second");
    CHECK(live[1].label == "third");
    CHECK(live[1].category == MemoryCategory::gradients);
}

TEST_CASE("ranks and changes that do not exist are refused") {
    const HandMade made = one_unit();
    CHECK_THROWS_AS(memory::ledger(made.trace, 1), meshscope::InvalidArgument);
    CHECK_THROWS_AS(memory::peak(made.trace, -1), meshscope::InvalidArgument);
    CHECK_THROWS_AS(memory::live_at(made.trace, 0, 9), meshscope::InvalidArgument);
    CHECK_THROWS_AS(memory::event_of_change(made.trace, 0, 8), meshscope::InvalidArgument);
}
