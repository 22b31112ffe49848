#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "core/base/error.h"
#include "core/comm/forwarding_transport.h"
#include "core/comm/shared_table.h"
#include "tests/contract/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;
using comm::ProcessGroup;

// The direct collectives of ranks in one process, which work in each other's buffers: that it shows nowhere,
// and that nobody is left waiting, or at a buffer that is gone. What they compute is held by tests/contract.

namespace {

constexpr std::array<CollectiveOp, 4> kOps{CollectiveOp::all_reduce, CollectiveOp::all_gather,
                                           CollectiveOp::reduce_scatter, CollectiveOp::broadcast};
/// Elements a rank: by value and by reference.
constexpr std::array<int64_t, 2> kSizes{60, 20000};

/// Calls an op with `n` elements a rank; the numbers are the rank's own.
Work call(CollectiveOp op, ProcessGroup& group, const Rank& rank, int64_t n, GroupRank root = {0}) {
    const auto p = static_cast<int64_t>(group.size());
    const auto fill = [&](int64_t count) {
        std::vector<float> numbers(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<float>(rank.rank() + 1) + static_cast<float>(i % 7);
        return rank.floats(numbers);
    };
    switch (op) {
        case CollectiveOp::all_gather:
            return group.all_gather(rank.zeros(n * p), fill(n));
        case CollectiveOp::reduce_scatter:
            return group.reduce_scatter(rank.zeros(n), fill(n * p), ReduceOp::sum);
        case CollectiveOp::broadcast:
            return group.broadcast(fill(n), root);
        default:
            return group.all_reduce(fill(n), ReduceOp::sum);
    }
}

/// A transport whose ranks seem to have no tables.
class MessagesOnly final : public comm::ForwardingTransport {
  public:
    using ForwardingTransport::ForwardingTransport;
    comm::Abilities abilities() override {
        comm::Abilities can = ForwardingTransport::abilities();
        can.shares_memory = inner_.abilities().shares_memory;
        return can;
    }
};

/// Runs `body` on every rank, at tables or over messages only, and gives what was recorded.
template <class Body>
std::vector<trace::RankRecord> record(int32_t p, bool at_tables, const Body& body) {
    std::vector<trace::RankRecord> records(static_cast<std::size_t>(p));
    backends::make_registry()->open("threads", {p})->run([&](comm::Transport& real) {
        MessagesOnly plain(real);
        comm::Transport& transport = at_tables ? real : plain;
        const auto device = tensor::make_cpu_device();
        trace::Recorder recorder(transport.rank(), trace::Level::values, 0);
        tensor::Allocator memory(*device, &recorder);
        StreamExecutor executor(transport, Mode::inline_in_wait);
        Rank rank{transport, executor, memory, recorder};
        body(rank);
        executor.finish();
        records[static_cast<std::size_t>(rank.rank())] = recorder.take();
    });
    return records;
}

/// What the run came to: "fine", or the id of the error that came out (secondary ones with a "*").
template <class Body>
std::string outcome(int32_t p, Mode mode, const Body& body) {
    try {
        run_ranks("threads", p, mode, [&](Rank& rank) {
            body(rank);
            return 0;
        });
        return "fine";
    } catch (const CommError& error) {
        return error.message().id + (error.secondary() ? "*" : "");
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("at a table the same hops with the same numbers are recorded as over messages") {
    for (const int32_t p : {2, 3, 5}) {
        const auto body = [](Rank& rank) {
            const auto world = rank.world(Algorithm::direct);
            // 700 a rank is beyond what lies on the table by value, and little enough to be kept in the
            // record.
            for (const int64_t n : {int64_t{0}, int64_t{7}, int64_t{700}, int64_t{2500}})
                for (const CollectiveOp op : kOps) call(op, *world, rank, n, GroupRank{1}).wait();
            const std::vector<int64_t> counts =
                rank.world_size() == 3 ? std::vector<int64_t>{1000, 0, 2000} : std::vector<int64_t>{};
            if (counts.empty()) return;
            const int64_t mine = counts[static_cast<std::size_t>(rank.rank())];
            world->all_gather(rank.zeros(3000), rank.zeros(mine), counts).wait();
            world->reduce_scatter(rank.zeros(mine), rank.zeros(3000), ReduceOp::max, counts).wait();
        };
        const auto tables = record(p, true, body);
        const auto messages = record(p, false, body);
        for (std::size_t r = 0; r < tables.size(); ++r) {
            INFO("p = " << p << ", rank " << r);
            REQUIRE(tables[r].hops.size() == messages[r].hops.size());
            REQUIRE(tables[r].values == messages[r].values);
            for (std::size_t i = 0; i < tables[r].hops.size(); ++i) {
                const trace::Hop &a = tables[r].hops[i], &b = messages[r].hops[i];
                CHECK((a.event == b.event && a.round == b.round && a.src == b.src && a.dst == b.dst));
                CHECK((a.chunk == b.chunk && a.offset == b.offset && a.elements == b.elements));
                CHECK((a.bytes == b.bytes && a.reduces == b.reduces && a.values == b.values));
                const trace::Event& event = tables[r].events[static_cast<std::size_t>(a.event)];
                CHECK(event.t_begin_ns <= a.t_begin_ns);
                CHECK(a.t_begin_ns <= a.t_end_ns);
                CHECK(a.t_end_ns <= event.t_end_ns);
            }
            for (std::size_t i = 0; i < tables[r].events.size(); ++i)
                CHECK(tables[r].events[i].sent_bytes == messages[r].events[i].sent_bytes);
        }
    }
}

TEST_CASE("a reduce_scatter may name even counts on one rank and not on another") {
    for (const int64_t n : {int64_t{10}, int64_t{5001}}) {
        const auto results = run_ranks("threads", 3, Mode::inline_in_wait, [&](Rank& rank) {
            const auto world = rank.world(Algorithm::direct);
            const std::vector<int64_t> counts = rank.rank() == 1 ? std::vector(3, n) : std::vector<int64_t>{};
            std::vector<float> numbers(static_cast<std::size_t>(3 * n));
            for (std::size_t i = 0; i < numbers.size(); ++i)
                numbers[i] = static_cast<float>(1 << rank.rank()) * static_cast<float>(i);
            const Tensor mine = rank.zeros(n);
            world->reduce_scatter(mine, rank.floats(numbers), ReduceOp::sum, counts).wait();
            return std::pair(mine.data<float>().front(), mine.data<float>().back());
        });
        for (std::size_t r = 0; r < 3; ++r) {
            const auto first = static_cast<float>(r) * static_cast<float>(n);
            CHECK(results[r] == std::pair(7 * first, 7 * (first + static_cast<float>(n) - 1)));
        }
    }
}

TEST_CASE("an all_reduce may be in place on one rank and not on another") {
    for (const int64_t n : {int64_t{10}, int64_t{5001}}) {
        const auto results = run_ranks("threads", 3, Mode::inline_in_wait, [&](Rank& rank) {
            const auto world = rank.world(Algorithm::direct);
            const Tensor input =
                rank.floats(std::vector<float>(static_cast<std::size_t>(n), float(1 << rank.rank())));
            const Tensor output = rank.rank() == 0 ? input : rank.zeros(n);
            const CallOptions options{};
            world
                ->issue({.op = CollectiveOp::all_reduce,
                         .reduce_op = ReduceOp::sum,
                         .input = &input,
                         .output = &output,
                         .options = &options})
                .wait();
            return std::pair{floats_of(input), floats_of(output)};
        });
        const std::vector<float> sum(static_cast<std::size_t>(n), 7);
        for (std::size_t r = 0; r < 3; ++r) {
            CHECK(results[r].second == sum);
            if (r > 0)
                CHECK(results[r].first == std::vector<float>(static_cast<std::size_t>(n), float(1 << r)));
        }
    }
}

TEST_CASE("a root may be ahead of slow ranks, which still get every message") {
    const auto got = run_ranks("threads", 3, Mode::inline_in_wait, [](Rank& rank) {
        const auto world = rank.world(Algorithm::direct);
        std::vector<float> seen;
        for (int i = 0; i < 50; ++i) {
            if (rank.rank() == 2 && i % 10 == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const Tensor t = rank.floats({rank.rank() == 0 ? static_cast<float>(i) : -1.0F});
            world->broadcast(t, GroupRank{0}).wait();
            seen.push_back(floats_of(t)[0]);
        }
        return seen;
    });
    for (const std::vector<float>& seen : got)
        for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == static_cast<float>(i));
}

TEST_CASE("a rank that fails instead of coming to the table ends everybody's waiting") {
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
        for (const CollectiveOp op : kOps)
            for (const int64_t n : kSizes)
                for (int32_t failing = 0; failing < 3; ++failing)
                    CHECK(outcome(3, mode, [&](Rank& rank) {
                              const auto world = rank.world(Algorithm::direct);
                              call(op, *world, rank, n).wait();
                              if (rank.rank() == failing) throw std::runtime_error("out of luck");
                              // A root of few bytes learns of it only when it needs somebody.
                              for (int i = 0; i < 8; ++i) call(op, *world, rank, n).wait();
                          }) == "out of luck");
}

TEST_CASE("a rank that throws with a call under way takes its buffers back before they go") {
    // The tensors die with the body; a peer that still read or wrote them would be seen by the sanitizers.
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
        for (const CollectiveOp op : kOps)
            for (int i = 0; i < 10; ++i)
                CHECK(outcome(2, mode, [&](Rank& rank) {
                          const auto world = rank.world(Algorithm::direct);
                          Work work = call(op, *world, rank, 50000);
                          if (rank.rank() == 1) {
                              if (i % 2 == 0) std::this_thread::yield();
                              throw std::runtime_error("dropped everything");
                          }
                          work.wait();
                          call(op, *world, rank, 50000).wait();
                          call(op, *world, rank, 50000).wait();
                      }) == "dropped everything");
}

TEST_CASE(
    "members whose counts make one call small and one large are told so, and nobody reads what is gone") {
    // Rank 0 agrees with rank 1 about its own part, so it reads from a buffer that rank 1 takes back.
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
        for (int i = 0; i < 20; ++i)
            CHECK(outcome(3, mode, [&](Rank& rank) {
                      const auto world = rank.world(Algorithm::direct);
                      const std::vector<int64_t> counts{1, 1, rank.rank() == 1 ? 90'000 : 1};
                      const int64_t mine = counts[static_cast<std::size_t>(rank.rank())];
                      world
                          ->reduce_scatter(rank.zeros(mine), rank.zeros(2 + counts[2]), ReduceOp::sum, counts)
                          .wait();
                      call(CollectiveOp::all_reduce, *world, rank, 1).wait();
                  }) == "comm.size_mismatch");
}

namespace {

/// Comes to the next meeting with `data` as its input, by reference.
void arrive(comm::SharedTable& table, const std::vector<std::byte>& data) {
    comm::Offer& offer = table.begin();
    offer.bytes = static_cast<int64_t>(data.size());
    offer.input = data.data();
    table.arrive();
}

}  // namespace

TEST_CASE("taking an offer back waits for whoever is at the buffers, and lets nobody in after") {
    std::atomic<int> stage{0};
    std::atomic<bool> reading{false}, read_after_withdrawal{false};
    std::array<std::string, 2> told;
    const auto body = [&](comm::Transport& transport) {
        const std::vector<GlobalRank> ranks{GlobalRank{0}, GlobalRank{1}};
        comm::SharedTable& table = *transport.abilities().tables->table(comm::Channel{0}, ranks);
        const std::vector<std::byte> data(100);
        try {
            if (transport.rank().value == 0) {
                arrive(table, data);
                table.await(1);
                table.enter();
                reading = true;
                stage = 1;
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                reading = false;
                table.leave();
                table.await_left(1);  // it will not: it took its offer back
            } else {
                arrive(table, data);
                while (stage < 1) std::this_thread::yield();
                transport.withdraw();
                read_after_withdrawal = reading.load();
                throw std::runtime_error("withdrew");
            }
        } catch (const CommError& error) {
            told[static_cast<std::size_t>(transport.rank().value)] = error.message().id;
        } catch (const std::runtime_error& error) {
            told[static_cast<std::size_t>(transport.rank().value)] = error.what();
        }
    };
    CHECK_THROWS_AS(backends::make_registry()->open("threads", {2})->run(body), CommError);
    CHECK_FALSE(read_after_withdrawal);
    CHECK(told[1] == "withdrew");
    CHECK(told[0] == "comm.peer_finished");  // the other ended without a failure of its own
}

TEST_CASE("a rank that comes to a withdrawn offer does not touch it, and is told why") {
    std::atomic<bool> seen{false}, withdrawn{false}, entered{false};
    std::string told;
    try {
        backends::make_registry()->open("threads", {2})->run([&](comm::Transport& transport) {
            const std::vector<GlobalRank> ranks{GlobalRank{0}, GlobalRank{1}};
            comm::SharedTable& table = *transport.abilities().tables->table(comm::Channel{0}, ranks);
            const std::vector<std::byte> data(100);
            arrive(table, data);
            if (transport.rank().value == 1) {
                while (!seen) std::this_thread::yield();
                table.withdraw();
                withdrawn = true;
                throw std::runtime_error("changed its mind");
            }
            table.await(1);
            seen = true;
            while (!withdrawn) std::this_thread::yield();
            table.enter();
            entered = true;
        });
    } catch (const std::exception& error) {
        told = error.what();
    }
    CHECK(told == "changed its mind");
    CHECK_FALSE(entered);
}

TEST_CASE("a circle of ranks that wait at tables is a deadlock, found and told") {
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread})
        for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather})
            for (const int64_t n : kSizes) {
                CHECK(outcome(3, mode, [&](Rank& rank) {
                          const int32_t r = rank.rank();
                          const auto ab = r != 2 ? rank.group(0, {0, 1}, Algorithm::direct) : nullptr;
                          const auto bc = r != 0 ? rank.group(1, {1, 2}, Algorithm::direct) : nullptr;
                          const auto ac = r != 1 ? rank.group(2, {0, 2}, Algorithm::direct) : nullptr;
                          ProcessGroup& first = r == 0 ? *ab : r == 1 ? *bc : *ac;
                          ProcessGroup& second = r == 0 ? *ac : r == 1 ? *ab : *bc;
                          call(op, first, rank, n).wait();
                          call(op, second, rank, n).wait();
                      }) == "comm.deadlock");
            }
}

TEST_CASE("one rank at a table while the other waits for a message is a deadlock too") {
    CHECK(outcome(2, Mode::inline_in_wait, [](Rank& rank) {
              const auto world = rank.world(rank.rank() == 0 ? Algorithm::direct : Algorithm::ring);
              call(CollectiveOp::all_reduce, *world, rank, 100).wait();
          }) == "comm.deadlock");
}

TEST_CASE("members that make different calls are told, with both calls") {
    struct Case {
        std::function<void(Rank&, ProcessGroup&)> call;
        std::string words[2];
    };
    const auto reduce = [](Rank& rank, ProcessGroup& world) {
        world.all_reduce(rank.zeros(4), rank.rank() == 0 ? ReduceOp::sum : ReduceOp::max).wait();
    };
    const auto dtype = [](Rank& rank, ProcessGroup& world) {
        world.all_reduce(rank.zeros(4, rank.rank() == 0 ? DType::float32 : DType::int32), ReduceOp::sum)
            .wait();
    };
    const auto op = [](Rank& rank, ProcessGroup& world) {
        if (rank.rank() == 0)
            world.all_reduce(rank.zeros(4), ReduceOp::sum).wait();
        else
            world.all_gather(rank.zeros(4), rank.zeros(2)).wait();
    };
    const auto root = [](Rank& rank, ProcessGroup& world) {
        world.broadcast(rank.zeros(4), GroupRank{rank.rank()}).wait();
    };
    const std::array<Case, 4> cases{{{reduce, {"all_reduce(sum, float32)", "all_reduce(max, float32)"}},
                                     {dtype, {"all_reduce(sum, float32)", "all_reduce(sum, int32)"}},
                                     {op, {"all_reduce(sum, float32)", "all_gather(float32)"}},
                                     {root, {"broadcast(src=0, float32)", "broadcast(src=1, float32)"}}}};
    for (const Case& each : cases) {
        INFO(each.words[0] << " and " << each.words[1]);
        try {
            run_ranks("threads", 2, Mode::inline_in_wait, [&](Rank& rank) {
                const auto world = rank.world(Algorithm::direct);
                each.call(rank, *world);
                return 0;
            });
            FAIL("nobody was told");
        } catch (const CommError& error) {
            REQUIRE(error.message().id == "comm.calls_differ");
            const auto text = [&](const char* arg) {
                return std::get<std::string>(*error.message().find(arg));
            };
            const auto me = static_cast<std::size_t>(std::get<int64_t>(*error.message().find("rank")));
            CHECK(text("call") == each.words[me]);
            CHECK(text("peer_call") == each.words[1 - me]);
        }
    }
}

TEST_CASE("different counts at a table are found, by value and by reference") {
    for (const int64_t n : {int64_t{10}, int64_t{5000}})
        for (const CollectiveOp op : kOps)
            CHECK(outcome(2, Mode::inline_in_wait, [&](Rank& rank) {
                      const auto world = rank.world(Algorithm::direct);
                      call(op, *world, rank, n + rank.rank()).wait();
                  }) == "comm.size_mismatch");
}

TEST_CASE("of several broadcasts the first that differs is told, not the last missed") {
    CHECK(outcome(2, Mode::inline_in_wait, [](Rank& rank) {
              const auto world = rank.world(Algorithm::direct);
              world->broadcast(rank.zeros(10), GroupRank{rank.rank()}).wait();
              if (rank.rank() == 0)
                  world->broadcast(rank.zeros(10), GroupRank{0}).wait();
              else
                  world->recv(rank.zeros(10), GroupRank{0}).wait();
          }) == "comm.calls_differ");
}

TEST_CASE("a small broadcast to a rank that never comes is an error of the root") {
    CHECK(outcome(2, Mode::inline_in_wait, [](Rank& rank) {
              const auto world = rank.world(Algorithm::direct);
              if (rank.rank() == 0) world->broadcast(rank.zeros(4), GroupRank{0}).wait();
          }) == "comm.peer_finished");
}
