#include "core/trace/recorder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "core/trace/blocks.h"
#include "core/trace/interner.h"
#include "tests/test.h"
#include "tests/trace/enter.h"
#include "tests/trace/example.h"

using namespace meshscope;
using namespace meshscope::trace;

namespace {

Event gather_draft(Stream stream, int32_t sequence) {
    Event draft;
    draft.op = CollectiveOp::all_gather;
    draft.stream = stream;
    draft.group = 0;
    draft.sequence = sequence;
    return draft;
}

}  // namespace

TEST_CASE("level off writes nothing and gives no event ids") {
    Recorder r(GlobalRank{0}, Level::off, 0);
    CHECK(r.begin_compute("linear", "net1") == -1);
    const int32_t event = trace::example::enter(r, gather_draft(Stream::all_gather, 0), {"user.call", ""},
                                                std::source_location::current());
    CHECK(event == -1);
    r.begin_collective(event, Algorithm::ring);
    r.add_hop({}, {});
    r.end_collective(event, 4);
    r.end_compute(-1);
    r.depend(Stream::compute, 0);
    r.on_allocate(1, 8, MemoryCategory::inputs, "x");
    r.on_free(1);
    CHECK(r.last_event() == -1);
    const RankRecord record = r.take();
    CHECK(record.events.empty());
    CHECK(record.memory.empty());
    CHECK(record.hops.empty());
    CHECK(record.strings.size() == 1);
}

TEST_CASE("events carry where training stands and are numbered without a gap") {
    Recorder r(GlobalRank{3}, Level::collectives, 0);
    const int32_t a = r.begin_compute("linear", "net1");
    r.end_compute(a, 64, 48, DType::bfloat16);
    r.set_step(2);
    r.set_phase(Phase::backward);
    r.set_microbatch(1);
    const int32_t b =
        trace::example::enter(r, gather_draft(Stream::all_gather, 7),
                              {"fsdp2.unshard.backward", "net1", true}, std::source_location::current());
    const auto line = std::source_location::current().line() - 2;
    CHECK(r.last_event() == b);
    r.begin_collective(b, Algorithm::ring);
    r.end_collective(b, 24);
    const RankRecord record = r.take();

    REQUIRE(record.events.size() == 2);
    const Event& compute = record.events[0];
    CHECK(compute.id == 0);
    CHECK(compute.step == -1);
    CHECK(compute.kind == EventKind::compute);
    CHECK(compute.phase == Phase::setup);
    CHECK(record.strings[compute.name] == "linear");
    CHECK(record.strings[compute.unit] == "net1");
    CHECK(compute.flops == 64);
    CHECK(compute.touched_bytes == 48);
    CHECK(compute.dtype == DType::bfloat16);
    CHECK(compute.group == -1);
    CHECK(compute.t_issue_ns <= compute.t_begin_ns);
    CHECK(compute.t_begin_ns <= compute.t_end_ns);
    const Event& gather = record.events[1];
    CHECK(gather.id == 1);
    CHECK(gather.step == 2);
    CHECK(gather.kind == EventKind::collective);
    CHECK(gather.phase == Phase::backward);
    CHECK(gather.microbatch == 1);
    CHECK(gather.prefetch == 1);
    CHECK(gather.sequence == 7);
    CHECK(gather.algorithm == Algorithm::ring);
    CHECK(gather.sent_bytes == 24);
    CHECK(record.strings[gather.rule] == "fsdp2.unshard.backward");
    CHECK(record.strings[gather.unit] == "net1");
    CHECK(record.strings[gather.source].starts_with("tests/trace/recorder_test.cpp:"));
    const std::string number =
        record.strings[gather.source].substr(record.strings[gather.source].rfind(':') + 1);
    CHECK(std::stol(number) <= static_cast<long>(line) + 1);
    CHECK(gather.t_issue_ns >= compute.t_end_ns);
    CHECK(gather.t_begin_ns >= gather.t_issue_ns);
    CHECK(gather.t_end_ns >= gather.t_begin_ns);
}

TEST_CASE(
    "a dependency hangs on the next event of its stream, once, and not where the stream's order says it") {
    Recorder r(GlobalRank{0}, Level::collectives, 0);
    const int32_t compute = r.begin_compute("a", "");
    r.depend(Stream::all_gather, compute);
    r.depend(Stream::all_gather, compute);
    r.depend(Stream::all_gather, -1);
    r.depend(Stream::compute, compute);
    const int32_t other = trace::example::enter(r, gather_draft(Stream::reduce_scatter, 0), {"user.call", ""},
                                                std::source_location::current());
    const int32_t gather = trace::example::enter(r, gather_draft(Stream::all_gather, 1), {"user.call", ""},
                                                 std::source_location::current());
    r.depend(Stream::compute, gather);
    r.depend(Stream::compute, other);
    const int32_t last = r.begin_compute("b", "");
    const int32_t after = r.begin_compute("c", "");
    const RankRecord record = r.take();
    REQUIRE(record.dependencies.size() == 3);
    CHECK(record.dependencies[0].event == gather);
    CHECK(record.dependencies[0].on == compute);
    CHECK(record.dependencies[1].event == last);
    CHECK(record.dependencies[1].on == gather);
    CHECK(record.dependencies[2].event == last);
    CHECK(record.dependencies[2].on == other);
    CHECK(after == last + 1);
}

TEST_CASE("operands keep their numbers up to a rank's most, then their shapes alone") {
    const std::vector<float> numbers(kMaxRecordedValues, 1.0F);
    Recorder r(GlobalRank{0}, Level::values, 0);
    const int32_t e = r.begin_compute("add", "");
    constexpr int64_t kFit = kMostOperandNumbers / kMaxRecordedValues;
    for (int64_t i = 0; i < kFit + 1; ++i)
        r.add_operand(e, SnapshotKind::input, "a", 1, kMaxRecordedValues, numbers);
    r.end_compute(e);
    const RankRecord record = r.take();
    REQUIRE(record.snapshots.size() == static_cast<std::size_t>(kFit + 1));
    CHECK(record.snapshots[kFit - 1].values == (kFit - 1) * kMaxRecordedValues);
    CHECK(record.snapshots[kFit].values == -1);
    CHECK(record.snapshots[kFit].elements == kMaxRecordedValues);
    CHECK(record.values.size() == static_cast<std::size_t>(kMostOperandNumbers));
}

TEST_CASE("a record taken piece by piece holds operands and buffers as one taken at the end does") {
    const auto step = [](Recorder& r, int32_t i) {
        const std::vector<float> numbers{static_cast<float>(i), -1};
        const int32_t kernel = r.begin_compute("add", "");
        r.add_operand(kernel, SnapshotKind::input, "a", 2, 1, numbers);
        r.add_operand(kernel, SnapshotKind::input, "b", kMaxRecordedValues + 1, 1, {});
        r.end_compute(kernel);
        const int32_t e = trace::example::enter(r, gather_draft(Stream::all_gather, 0), {"user.call", ""},
                                                std::source_location::current());
        r.begin_collective(e, Algorithm::direct);
        r.add_snapshot(e, SnapshotKind::output, std::vector<float>{7, static_cast<float>(i), 9});
        r.end_collective(e, 0);
        r.add_operand(kernel, SnapshotKind::output, "out", 2, 1, numbers);
    };
    Recorder whole(GlobalRank{0}, Level::values, 0), cut(GlobalRank{0}, Level::values, 0);
    Recorder::Mark mark;
    RankRecord pieces;
    for (int32_t i = 0; i < 3; ++i) {
        step(whole, i);
        step(cut, i);
        append(pieces, cut.since(mark));
    }
    pieces.strings.insert(pieces.strings.begin(),
                          pieces.strings.empty() || !pieces.strings[0].empty() ? 1 : 0, "");
    settle(pieces);
    const RankRecord taken = whole.take();
    CHECK(pieces.values == taken.values);
    REQUIRE(pieces.snapshots.size() == taken.snapshots.size());
    for (std::size_t i = 0; i < taken.snapshots.size(); ++i) {
        CHECK(pieces.snapshots[i].event == taken.snapshots[i].event);
        CHECK(pieces.snapshots[i].values == taken.snapshots[i].values);
        CHECK(pieces.snapshots[i].rows == taken.snapshots[i].rows);
        CHECK(pieces.snapshots[i].operand == taken.snapshots[i].operand);
    }
}

TEST_CASE("hops and values are kept from their level on, values only where small") {
    const std::vector<float> small(4, 2.0F), large(kMaxRecordedValues + 1, 1.0F);
    for (const Level level : {Level::collectives, Level::hops, Level::values}) {
        Recorder r(GlobalRank{0}, level, 0);
        const int32_t e = trace::example::enter(r, gather_draft(Stream::all_gather, 0), {"user.call", ""},
                                                std::source_location::current());
        r.begin_collective(e, Algorithm::direct);
        Hop hop;
        hop.event = e;
        hop.src = 1;
        hop.elements = 4;
        r.add_hop(hop, small);
        hop.elements = kMaxRecordedValues + 1;
        r.add_hop(hop, large);
        r.add_snapshot(e, SnapshotKind::output, small);
        r.add_snapshot(e, SnapshotKind::output, large);
        r.end_collective(e, 0);
        const RankRecord record = r.take();
        CHECK(record.events.size() == 1);
        CHECK(record.hops.size() == (level >= Level::hops ? 2U : 0U));
        CHECK(record.snapshots.size() == (level == Level::values ? 1U : 0U));
        CHECK(record.values.size() == (level == Level::values ? 8U : 0U));
        if (level == Level::hops) CHECK(record.hops[0].values == -1);
        if (level == Level::values) {
            CHECK(record.hops[0].values >= 0);
            CHECK(record.hops[1].values == -1);
        }
    }
}

TEST_CASE("the order in which streams took turns leaves no mark in the record") {
    const std::vector<float> one{1.0F}, two{2.0F};
    const auto recorded = [&](bool second_first) {
        Recorder r(GlobalRank{0}, Level::values, 0);
        const int32_t a = trace::example::enter(r, gather_draft(Stream::all_gather, 0), {"user.call", ""},
                                                std::source_location::current());
        const int32_t b = trace::example::enter(r, gather_draft(Stream::reduce_scatter, 1), {"user.call", ""},
                                                std::source_location::current());
        for (const int32_t e : second_first ? std::vector{b, a} : std::vector{a, b}) {
            r.begin_collective(e, Algorithm::ring);
            Hop hop;
            hop.event = e;
            hop.src = 1;
            hop.elements = 1;
            r.add_hop(hop, e == a ? one : two);
            r.end_collective(e, 4);
        }
        return r.take();
    };
    const RankRecord x = recorded(false), y = recorded(true);
    REQUIRE(x.hops.size() == 2);
    REQUIRE(y.hops.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(x.hops[i].event == y.hops[i].event);
        CHECK(x.hops[i].values == y.hops[i].values);
    }
    CHECK(x.values == y.values);
    CHECK(x.values == std::vector<float>{1.0F, 2.0F});
}

TEST_CASE("frees give back what was allocated, under the same label") {
    Recorder r(GlobalRank{0}, Level::collectives, 0);
    r.on_allocate(1, 100, MemoryCategory::activations, "act");
    const int32_t e = r.begin_compute("a", "");
    r.on_allocate(2, 40, MemoryCategory::gradients, "grad");
    r.on_free(1);
    r.on_free(77);  // never seen: allocated before the record began
    const RankRecord record = r.take();
    REQUIRE(record.memory.size() == 3);
    CHECK(record.memory[0].after_event == -1);
    CHECK(record.memory[1].after_event == e);
    CHECK(record.memory[2].delta_bytes == -100);
    CHECK(record.memory[2].category == MemoryCategory::activations);
    CHECK(record.memory[2].allocation == 1);
    CHECK(record.strings[record.memory[2].label] == "act");
}

TEST_CASE("issuing and running halves work at the same time on two threads") {
    // TSan watches this one: the halves must share nothing.
    Recorder r(GlobalRank{0}, Level::values, 0);
    constexpr int32_t kEvents = 5000;
    std::thread running([&] {
        const std::vector<float> value{3.0F};
        for (int32_t e = 0; e < kEvents; ++e) {
            r.begin_collective(e, Algorithm::ring);
            Hop hop;
            hop.event = e;
            hop.src = 1;
            hop.elements = 1;
            r.add_hop(hop, value);
            r.end_collective(e, e);
        }
    });
    for (int32_t i = 0; i < kEvents; ++i) {
        trace::example::enter(r, gather_draft(Stream::all_gather, i),
                              {"user.call", "u" + std::to_string(i % 7)}, std::source_location::current());
        r.on_allocate(static_cast<uint64_t>(i), 8, MemoryCategory::communication, "buffer");
    }
    running.join();
    const RankRecord record = r.take();
    REQUIRE(record.events.size() == kEvents);
    REQUIRE(record.hops.size() == kEvents);
    int64_t wrong = 0;
    for (int32_t i = 0; i < kEvents; ++i) {
        const Event& e = record.events[static_cast<std::size_t>(i)];
        wrong += e.id != i || e.sent_bytes != i || e.sequence != i ||
                 record.strings[e.unit] != "u" + std::to_string(i % 7);
    }
    CHECK(wrong == 0);
}

TEST_CASE("a recorder is empty after take and can begin anew") {
    Recorder r(GlobalRank{0}, Level::values, 0);
    r.end_compute(r.begin_compute("a", "b"));
    r.on_allocate(1, 8, MemoryCategory::inputs, "x");
    CHECK(r.take().events.size() == 1);
    CHECK(r.last_event() == -1);
    r.on_free(1);
    CHECK(r.begin_compute("a", "b") == 0);
    const RankRecord second = r.take();
    CHECK(second.events.size() == 1);
    CHECK(second.memory.empty());
    CHECK(second.strings[second.events[0].unit] == "b");
}

TEST_CASE("steps to come find their memory taken") {
    constexpr int kSteps = 100, kEvents = 500;
    constexpr std::size_t kStepBytes = kEvents * (sizeof(Event) + 2 * sizeof(MemoryChange));
    constexpr std::size_t kMostBytes =
        (std::size_t{4} << 20) + (std::size_t{1} << 20);  // and what blocks round up
    Recorder r(GlobalRank{0}, Level::collectives, 0);
    for (int32_t s = 0; s < kSteps; ++s) {
        CAPTURE(s);
        const std::size_t before = r.room_bytes();
        r.set_step(s);
        for (int i = 0; i < kEvents; ++i) {
            r.end_compute(r.begin_compute("linear", "net1"));
            r.on_allocate(1, 8, MemoryCategory::activations, "act");
            r.on_free(1);
        }
        const std::size_t after = r.room_bytes();
        if (s > 0) CHECK(after == before);
        r.make_room(kSteps - s - 1);
        CHECK(r.room_bytes() <= after + kMostBytes);
        CHECK(r.room_bytes() <= kSteps * kStepBytes + kMostBytes);
    }
    const std::size_t all = r.room_bytes();
    r.make_room(kSteps);  // nothing was written since: nothing is known of a step
    CHECK(r.room_bytes() == all);
    const RankRecord record = r.take();
    CHECK(record.events.size() == kSteps * kEvents);
    CHECK(record.memory.size() == 2 * kSteps * kEvents);
}

TEST_CASE("memory that a list takes is touched before it is written") {
    using Page = std::array<std::byte, 4096>;
    Blocks<Page, 256> pages;  // a block is too large for memory that was used before
    pages.reserve(1000);
    REQUIRE(pages.capacity() == 1024);
    const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    std::size_t touched = 0;
    for (std::size_t i = 0; i < pages.capacity(); ++i) {
        const auto within = reinterpret_cast<uintptr_t>(&pages[i]) % page_bytes;
        unsigned char resident = 0;
        REQUIRE(mincore(pages[i].data() - within, 1, &resident) == 0);
        touched += resident & 1U;
    }
    CHECK(touched == pages.capacity());
}

TEST_CASE("source paths begin at the project's root") {
    CHECK(path_below_root(std::source_location::current().file_name()) == "tests/trace/recorder_test.cpp");
    CHECK(path_below_root("/app/src/project/core/comm/ring.cpp") == "core/comm/ring.cpp");
    CHECK(path_below_root("/elsewhere/main.cpp") == "/elsewhere/main.cpp");
}
