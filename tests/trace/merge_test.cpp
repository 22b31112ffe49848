#include <functional>
#include <string>

#include "core/base/error.h"
#include "core/trace/trace.h"
#include "tests/test.h"
#include "tests/trace/example.h"

using namespace meshscope;
using namespace meshscope::trace;

namespace {

Event collective(int32_t id, CollectiveOp op, int32_t group, int32_t sequence, int64_t t, int32_t peer = -1) {
    Event e;
    e.id = id;
    e.kind = EventKind::collective;
    e.op = op;
    e.group = group;
    e.sequence = sequence;
    e.peer = peer;
    e.t_issue_ns = e.t_begin_ns = e.t_end_ns = t;
    return e;
}

RunInfo world(int32_t size) {
    RunInfo info;
    info.world_size = size;
    return info;
}

std::string refused(const std::function<void(std::vector<RankRecord>&)>& spoil) {
    std::vector<RankRecord> records = example::records();
    spoil(records);
    try {
        merge(example::info(), example::groups(), std::move(records));
    } catch (const InvalidArgument& e) {
        if (e.message().id != "trace.invalid") return e.message().id;
        return to_text(*e.message().find("table")) + "[" + to_text(*e.message().find("index")) + "]." +
               to_text(*e.message().find("field"));
    }
    return "accepted";
}

}  // namespace

TEST_CASE("the merge makes one string table and keeps every rank's events") {
    const Trace trace = example::merged();
    REQUIRE(trace.ranks.size() == 2);
    CHECK(trace.strings[0].empty());
    for (int32_t rank = 0; rank < 2; ++rank) {
        CHECK(trace.text(trace.event(rank, 0).name) == "linear");
        CHECK(trace.text(trace.event(rank, 0).unit) == "net1");
        CHECK(trace.text(trace.event(rank, 1).rule) == "fsdp2.unshard.forward");
        CHECK(trace.text(trace.event(rank, 1).source).starts_with("tests/trace/example.cpp:"));
        CHECK(trace.text(trace.ranks[static_cast<std::size_t>(rank)].memory[1].label) == "all_gather net2");
    }
    // The same text has one number, whoever wrote it.
    CHECK(trace.event(0, 1).rule == trace.event(1, 1).rule);
    for (std::size_t i = 0; i < trace.strings.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) CHECK(trace.strings[i] != trace.strings[k]);
}

TEST_CASE("events that do not exist are refused by name") {
    const Trace trace = example::merged();
    CHECK_THROWS_AS(trace.event(0, 3), InvalidArgument);
    CHECK_THROWS_AS(trace.event(2, 0), InvalidArgument);
    CHECK_THROWS_AS(trace.event(-1, 0), InvalidArgument);
    CHECK_THROWS_AS(trace.event(0, -1), InvalidArgument);
}

TEST_CASE("the merge refuses records that contradict themselves and says where") {
    using Records = std::vector<RankRecord>;
    CHECK(refused([](Records&) {}) == "accepted");
    CHECK(refused([](Records& r) { r.pop_back(); }) == "info[0].world_size");
    CHECK(refused([](Records& r) { r[1].events[1].id = 5; }) == "events[1].id");
    CHECK(refused([](Records& r) { r[1].events[0].name = 99; }) == "events[0].name");
    CHECK(refused([](Records& r) { r[1].events[1].group = 2; }) == "events[1].group");
    CHECK(refused([](Records& r) { r[0].events[0].group = 0; }) == "events[0].group");
    CHECK(refused([](Records& r) { r[0].events[1].op = static_cast<CollectiveOp>(200); }) == "events[1].op");
    CHECK(refused([](Records& r) { r[0].events[1].peer = 2; }) == "events[1].peer");
    CHECK(refused([](Records& r) {
              r[0].events[1].op = CollectiveOp::recv;
              r[0].events[1].peer = -1;
          }) == "events[1].peer");
    CHECK(refused([](Records& r) { r[0].events[2].t_end_ns = 0; }) == "events[2].t_end_ns");
    CHECK(refused([](Records& r) { r[0].hops[0].src = 2; }) == "hops[0].src");
    CHECK(refused([](Records& r) { r[0].hops[0].src = 0; }) == "hops[0].src");
    CHECK(refused([](Records& r) { r[0].hops[0].dst = 1; }) == "hops[0].dst");
    CHECK(refused([](Records& r) { r[0].hops[0].event = 0; }) == "hops[0].event");
    CHECK(refused([](Records& r) { r[0].hops[0].event = 3; }) == "hops[0].event");
    CHECK(refused([](Records& r) { r[0].hops[0].values = 7; }) == "hops[0].values");
    CHECK(refused([](Records& r) { r[0].snapshots[1].elements = INT64_MAX; }) == "snapshots[1].values");
    CHECK(refused([](Records& r) { r[0].dependencies[0].on = 1; }) == "dependencies[0].on");
    CHECK(refused([](Records& r) { r[0].memory[2].delta_bytes = -33; }) == "memory[2].delta_bytes");
    CHECK(refused([](Records& r) { r[0].memory[0].after_event = 3; }) == "memory[0].after_event");
    CHECK(refused([](Records& r) { r[0].memory[0].label = 50; }) == "memory[0].label");
    CHECK(refused([](Records& r) { r[0].parameters[0].unit = 50; }) == "parameters[0].unit");
    CHECK(refused([](Records& r) { r[0].parameters[0].elements = 4; }) == "parameters[0].elements");
    CHECK(refused([](Records& r) { r[0].parameters[0].first = INT64_MAX; }) == "parameters[0].elements");
    CHECK(refused([](Records& r) { r[0].parameters[0].n_rows = 4; }) == "parameters[0].first_row");
    CHECK(refused([](Records& r) { r[0].parameters[0].rows = -1; }) == "parameters[0].rows");
    CHECK(refused([](Records& r) { r[0].parameters[0].rows = r[0].parameters[0].columns = INT64_MAX; }) ==
          "parameters[0].rows");
    CHECK(refused([](Records& r) { r[1].parameters[2].padding = 0; }) == "parameters[2].padding");
    CHECK(refused([](Records& r) { r[1].parameters[1].first_in_shard = -1; }) ==
          "parameters[1].first_in_shard");
}

TEST_CASE("collectives are matched by group and sequence, p2p by pair, in order of first issue") {
    std::vector<RankRecord> records(4);
    // Groups: 0 = {0,1}, 1 = {2,3}, 2 = all. Ranks 2 and 3 issue late; sends and recvs between 0 and 3 in
    // group 2 carry sequence numbers of their own on each side.
    records[0].events = {
        collective(0, CollectiveOp::all_gather, 0, 0, 10), collective(1, CollectiveOp::send, 2, 0, 20, 3),
        collective(2, CollectiveOp::recv, 2, 1, 30, 3), collective(3, CollectiveOp::send, 2, 2, 40, 3),
        collective(4, CollectiveOp::all_reduce, 2, 3, 90)};
    records[1].events = {collective(0, CollectiveOp::all_gather, 0, 0, 5),
                         collective(1, CollectiveOp::all_reduce, 2, 3, 50)};
    records[2].events = {collective(0, CollectiveOp::all_gather, 1, 0, 11),
                         collective(1, CollectiveOp::all_reduce, 2, 3, 51)};
    records[3].events = {
        collective(0, CollectiveOp::all_gather, 1, 0, 12), collective(1, CollectiveOp::send, 2, 5, 21, 0),
        collective(2, CollectiveOp::recv, 2, 6, 22, 0), collective(3, CollectiveOp::recv, 2, 7, 23, 0),
        collective(4, CollectiveOp::all_reduce, 2, 3, 52)};
    const Trace trace =
        merge(world(4), {{"a", {0, 1}}, {"a", {2, 3}}, {"world", {0, 1, 2, 3}}}, std::move(records));
    const std::vector<CollectiveInstance> all = collectives(trace);
    REQUIRE(all.size() == 6);
    CHECK(all[0].ranks == std::vector<int32_t>{0, 1});
    CHECK(all[0].events == std::vector<int32_t>{0, 0});
    CHECK(all[1].ranks == std::vector<int32_t>{2, 3});
    CHECK(all[1].group == 1);
    // 0 → 3, first; 3 → 0; 0 → 3, second
    CHECK(all[2].ranks == std::vector<int32_t>{0, 3});
    CHECK(all[2].events == std::vector<int32_t>{1, 2});
    CHECK(all[3].events == std::vector<int32_t>{2, 1});
    CHECK(all[4].events == std::vector<int32_t>{3, 3});
    CHECK(all[5].ranks == std::vector<int32_t>{0, 1, 2, 3});
    CHECK(all[5].events == std::vector<int32_t>{4, 1, 1, 4});
    CHECK(all[5].sequence == 3);
}

TEST_CASE("members stand in group order even where the group is not sorted") {
    std::vector<RankRecord> records(2);
    records[0].events = {collective(0, CollectiveOp::barrier, 0, 0, 1)};
    records[1].events = {collective(0, CollectiveOp::barrier, 0, 0, 2)};
    const Trace trace = merge(world(2), {{"t", {1, 0}}}, std::move(records));
    const auto all = collectives(trace);
    REQUIRE(all.size() == 1);
    CHECK(all[0].ranks == std::vector<int32_t>{1, 0});
}
