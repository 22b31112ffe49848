#include <algorithm>
#include <array>
#include <source_location>

#include "core/base/error.h"
#include "core/trace/trace.h"
#include "tests/contract/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

// What a run writes down of its collectives.

namespace {

template <class Body>
std::vector<trace::RankRecord> record(int32_t p, Mode mode, const Body& body) {
    std::vector<trace::RankRecord> records;
    run_ranks(
        "threads", p, mode,
        [&](Rank& rank) {
            body(rank);
            return 0;
        },
        &records);
    return records;
}

std::vector<float> values_of(const trace::RankRecord& record, int64_t first, int64_t n) {
    return {record.values.begin() + first, record.values.begin() + first + n};
}

/// What rank 0 of two is told of a wrong call. Each rank catches its own refusal: which of two equal mistakes
/// would reach the world first is chance.
std::string refusal(const std::function<void(Rank&)>& body) {
    return run_ranks("threads", 2, Mode::inline_in_wait, [&](Rank& rank) -> std::string {
        try {
            body(rank);
            return "fine";
        } catch (const InvalidArgument& error) {
            return error.what();
        }
    })[0];
}

}  // namespace

TEST_CASE("the ring's hops carry the partial sums, chunk by chunk") {
    // Rank r holds 1, 10, 100 times 2^r … so a sum shows who is in it: chunk c begins at rank c+1.
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread}) {
        const auto records = record(3, mode, [](Rank& rank) {
            const auto k = static_cast<float>(1 << rank.rank());
            rank.world()->all_reduce(rank.floats({k, 10 * k, 100 * k}), ReduceOp::sum).wait();
        });
        struct Seen {
            int32_t round, src, chunk;
            bool reduces;
            int64_t offset;
            float value;
            bool operator==(const Seen&) const = default;
        };
        const auto hops_of = [&](std::size_t rank) {
            std::vector<Seen> seen;
            for (const trace::Hop& h : records[rank].hops)
                seen.push_back({h.round, h.src, h.chunk, h.reduces == 1, h.offset,
                                values_of(records[rank], h.values, 1)[0]});
            return seen;
        };
        // To rank 0 from rank 2: chunk 1 (2's own 40), then chunk 0 as 1 and 2 have summed it (6); then the
        // whole chunks 2 and 1. Chunk c's sum is 7 · 10^c.
        CHECK(hops_of(0) == std::vector<Seen>{{0, 2, 1, true, 1, 40},
                                              {1, 2, 0, true, 0, 6},
                                              {2, 2, 2, false, 2, 700},
                                              {3, 2, 1, false, 1, 70}});
        CHECK(hops_of(1) == std::vector<Seen>{{0, 0, 2, true, 2, 100},
                                              {1, 0, 1, true, 1, 50},
                                              {2, 0, 0, false, 0, 7},
                                              {3, 0, 2, false, 2, 700}});
        CHECK(hops_of(2) == std::vector<Seen>{{0, 1, 0, true, 0, 2},
                                              {1, 1, 2, true, 2, 300},
                                              {2, 1, 1, false, 1, 70},
                                              {3, 1, 0, false, 0, 7}});
    }
}

TEST_CASE("an event tells the call: op, group, root, counts, stream, cause, line, numbers in and out") {
    const auto records = record(4, Mode::inline_in_wait, [](Rank& rank) {
        const auto pair = rank.group(5, {rank.rank() % 2, rank.rank() % 2 + 2});
        CallOptions options{};
        options.stream = Stream::all_gather;
        options.cause = {"fsdp2.unshard.forward", "net1"};
        options.padding = 1;
        const auto r = static_cast<float>(rank.rank());
        pair->all_gather(rank.zeros(4), rank.floats({r, r + 0.5F}), {}, options).wait();
        pair->broadcast(rank.floats({r}), GroupRank{1}).wait();
    });
    const trace::RankRecord& record = records[3];
    REQUIRE(record.events.size() == 2);
    const trace::Event& gather = record.events[0];
    CHECK(gather.op == CollectiveOp::all_gather);
    CHECK(gather.group == 5);
    CHECK(gather.sequence == 0);
    CHECK(gather.peer == -1);
    CHECK(gather.stream == Stream::all_gather);
    CHECK(gather.dtype == DType::float32);
    CHECK(gather.algorithm == Algorithm::ring);
    CHECK(gather.padding == 1);
    CHECK(gather.in_elements == 2);
    CHECK(gather.out_elements == 4);
    CHECK(gather.sent_bytes == 8);
    CHECK(record.strings[gather.rule] == "fsdp2.unshard.forward");
    CHECK(record.strings[gather.unit] == "net1");
    CHECK(record.strings[gather.source].find("record_test.cpp:") != std::string::npos);
    CHECK(gather.t_issue_ns <= gather.t_begin_ns);
    CHECK(gather.t_begin_ns <= gather.t_end_ns);
    REQUIRE(record.snapshots.size() == 4);
    CHECK(values_of(record, record.snapshots[0].values, 2) == std::vector<float>{3, 3.5F});
    CHECK(values_of(record, record.snapshots[1].values, 4) == std::vector<float>{1, 1.5F, 3, 3.5F});
    CHECK(record.events[1].peer == 3);  // group rank 1 of {1, 3}, as a global rank
    CHECK(record.events[1].sequence == 1);
    CHECK(record.events[1].algorithm == Algorithm::tree);
    // Hops name global ranks.
    CHECK(record.hops[0].src == 1);
    CHECK(record.hops[0].dst == 3);
}

TEST_CASE("a group of one moves nothing and is recorded all the same") {
    const auto records = record(1, Mode::inline_in_wait, [](Rank& rank) {
        const auto world = rank.world();
        const Tensor out = rank.zeros(2);
        CallOptions options{};
        options.factor = 3;
        world->reduce_scatter(out, rank.floats({2, 4}), ReduceOp::avg).wait();
        world->all_reduce(out, ReduceOp::premul_sum, options).wait();
        world->barrier().wait();
    });
    REQUIRE(records[0].events.size() == 3);
    for (const trace::Event& event : records[0].events) {
        CHECK(event.algorithm == Algorithm::none);
        CHECK(event.sent_bytes == 0);
    }
    CHECK(records[0].hops.empty());
    CHECK(values_of(records[0], records[0].snapshots[1].values, 2) == std::vector<float>{2, 4});
    CHECK(values_of(records[0], records[0].snapshots[3].values, 2) == std::vector<float>{6, 12});
}

TEST_CASE("sends and recvs have numbers of their own, by pair and direction") {
    const auto records = record(3, Mode::inline_in_wait, [](Rank& rank) {
        const auto world = rank.world();
        const Tensor t = rank.zeros(1);
        world->barrier().wait();
        if (rank.rank() == 0) {
            world->send(t, GroupRank{1}).wait();
            world->send(t, GroupRank{1}).wait();
            world->recv(t, GroupRank{1}).wait();
        }
        if (rank.rank() == 1) {
            world->recv(t, GroupRank{0}).wait();
            world->recv(t, GroupRank{0}).wait();
            world->send(t, GroupRank{0}).wait();
        }
        world->barrier().wait();
    });
    const auto sequences = [&](std::size_t rank) {
        std::vector<int32_t> out;
        for (const trace::Event& event : records[rank].events) out.push_back(event.sequence);
        return out;
    };
    CHECK(sequences(0) == std::vector<int32_t>{0, 0, 1, 0, 1});
    CHECK(sequences(1) == std::vector<int32_t>{0, 0, 1, 0, 1});
    CHECK(sequences(2) == std::vector<int32_t>{0, 1});
    CHECK(records[0].events[1].sent_bytes == 4);
    CHECK(records[0].events[1].out_elements == 0);
    CHECK(records[1].events[1].in_elements == 0);
    CHECK(records[1].events[1].peer == 0);
}

TEST_CASE("waiting for a work makes what follows on that stream depend on it") {
    const auto records = record(2, Mode::helper_thread, [](Rank& rank) {
        const auto world = rank.world();
        const Tensor a = rank.zeros(1);
        const Tensor b = rank.zeros(1);
        CallOptions scatter{};
        scatter.stream = Stream::reduce_scatter;
        CallOptions reduce{};
        reduce.stream = Stream::all_reduce;
        Work first = world->all_reduce(a, ReduceOp::sum, scatter);  // event 0
        first.wait(Stream::all_reduce);
        Work second = world->all_reduce(a, ReduceOp::sum, reduce);  // event 1: after 0
        world->all_reduce(b, ReduceOp::sum, scatter).wait();  // event 2: the stream's own order says enough
        second.wait();
        rank.recorder.end_compute(rank.recorder.begin_compute("k", "u"));  // event 3: after 1 and 2
    });
    for (const trace::RankRecord& each : records) {
        std::vector<std::pair<int32_t, int32_t>> seen;
        for (const trace::Dependency& d : each.dependencies) seen.emplace_back(d.event, d.on);
        std::sort(seen.begin(), seen.end());
        CHECK(seen == std::vector<std::pair<int32_t, int32_t>>{{1, 0}, {3, 1}, {3, 2}});
    }
}

TEST_CASE("calls that cannot be right are refused before anything is sent") {
    CHECK(refusal([](Rank& r) { r.world()->all_gather(r.zeros(3), r.zeros(2)); }) ==
          "comm.wrong_elements(op=all_gather, which=output, group_rank=0, elements=3, expected=4)");
    CHECK(refusal([](Rank& r) { r.world()->reduce_scatter(r.zeros(2), r.zeros(5), ReduceOp::sum); }) ==
          "comm.wrong_elements(op=reduce_scatter, which=input, group_rank=0, elements=5, expected=4)");
    CHECK(refusal([](Rank& r) {
              r.world()->all_gather(r.zeros(3), r.zeros(r.rank()), {1, -2});
          }) == "comm.wrong_counts(op=all_gather, counts=[1, -2], size=2)");
    CHECK(refusal([](Rank& r) {
              r.world()->all_gather(r.zeros(3), r.zeros(1), {1, 1, 1});
          }) == "comm.wrong_counts(op=all_gather, counts=[1, 1, 1], size=2)");
    CHECK(refusal([](Rank& r) { r.world()->all_gather(r.zeros(2, DType::int32), r.zeros(1)); }) ==
          "comm.dtypes_differ(op=all_gather, input=float32, output=int32)");
    CHECK(refusal([](Rank& r) { r.world()->broadcast(r.zeros(2), GroupRank{2}); }) ==
          "comm.peer_outside_group(op=broadcast, peer=2, size=2)");
    CHECK(refusal([](Rank& r) {
              r.world()->all_reduce({}, ReduceOp::sum);
          }).rfind("comm.tensor_missing(op=all_reduce, which=input", 0) == 0);
    CHECK(refusal([](Rank& r) { r.world()->all_reduce(r.zeros(1), ReduceOp::none); }) ==
          "comm.reduce_op_missing()");
    CHECK(refusal([](Rank& r) {
              r.world()->send(r.zeros(1), GroupRank{r.rank()});
          }).rfind("comm.peer_is_self(op=send", 0) == 0);
    CHECK(refusal([](Rank& r) {
              const Tensor t = r.zeros(5);
              r.world()->all_gather(t.slice(0, 4), t.slice(3, 2));
          }) == "comm.overlap(op=all_gather)");
    CHECK(refusal([](Rank& r) {
              r.group(0, {1, 0});
          }).rfind("comm.ranks_not_ascending(group=dim, ranks=[1, 0]", 0) == 0);
    CHECK(refusal([](Rank& r) {
              r.group(0, {1});
          }).rfind("comm.not_a_member(group=dim, ranks=[1], rank=0", 0) == 0);
    CHECK(refusal([](Rank& r) { r.group(0, {0, 1, 2}); }) == "comm.rank_outside_world(rank=2, world_size=2)");
}

TEST_CASE("a helper thread is worth it only where cores are left over") {
    CHECK(StreamExecutor::choose_mode(1, 2) == Mode::helper_thread);
    CHECK(StreamExecutor::choose_mode(4, 2) == Mode::inline_in_wait);
    CHECK(StreamExecutor::choose_mode(4, 8) == Mode::helper_thread);
    CHECK(StreamExecutor::choose_mode(8, 8) == Mode::inline_in_wait);
}

TEST_CASE("a call that waits is recorded as one that is issued and then waited for") {
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
        for (const Algorithm algorithm : {Algorithm::direct, Algorithm::ring}) {
            const auto recorded = [&](bool async_op) {
                return record(2, mode, [&](Rank& rank) {
                    const auto world = rank.world(algorithm);
                    const Tensor whole = rank.floats({1, 2, 3, 4}), part = rank.floats({5, 6});
                    const CallOptions options{.stream = Stream::all_reduce,
                                              .cause = {"user.call", "unit"},
                                              .async_op = async_op,
                                              .source = std::source_location()};
                    for (int i = 0; i < 2; ++i) {
                        rank.recorder.set_step(i);
                        for (int again = 0; again < 3; ++again)
                            world->all_reduce(whole, ReduceOp::sum, options).wait();
                        rank.recorder.set_phase(Phase::backward);
                        for (int again = 0; again < 2; ++again)
                            world->all_gather(whole, part, {}, options).wait();
                        // What follows on the compute stream depends on both.
                        rank.recorder.end_compute(rank.recorder.begin_compute("work", "unit"));
                    }
                });
            };
            const auto apart = recorded(true), at_once = recorded(false);
            for (const trace::RankRecord& record : {apart[0], apart[1], at_once[0], at_once[1]}) {
                CHECK(record.events.size() == 2 * 6);
                CHECK(record.dependencies.size() == 2 * 5);
                for (const trace::Event& event : record.events) {
                    CHECK(event.t_issue_ns > 0);
                    CHECK(event.t_issue_ns <= event.t_begin_ns);
                    CHECK(event.t_begin_ns <= event.t_end_ns);
                }
            }
            const auto merged = [](const std::vector<trace::RankRecord>& records) {
                trace::RunInfo info;
                info.world_size = 2;
                return trace::merge(info, {{"dim", {0, 1}}}, records);
            };
            CHECK(trace::identical(merged(apart), merged(at_once), trace::Ignore::times));
        }
}
