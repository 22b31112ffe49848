#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "core/base/error.h"
#include "tests/contract/harness.h"
#include "tests/contract/outcome.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

// Nothing here may hang: ctest's time limit is the judge of that.

namespace {

/// Runs bodies whose errors are noted on the way out; gives the world's error and each rank's.
template <class Body>
std::pair<std::string, std::vector<std::string>> outcomes(const std::string& backend, int32_t n, Mode mode,
                                                          const Body& body) {
    std::vector<std::string> each(static_cast<std::size_t>(n));
    const std::string whole = outcome([&] {
        run_ranks(backend, n, mode, [&](Rank& rank) {
            const auto place = static_cast<std::size_t>(rank.rank());
            std::exception_ptr thrown;
            each[place] = outcome([&] {
                try {
                    body(rank);
                    rank.executor.finish();
                } catch (...) {
                    thrown = std::current_exception();
                    throw;
                }
            });
            if (thrown) std::rethrow_exception(thrown);
            return 0;
        });
    });
    return {whole, each};
}

/// A message's number, or -1 when it has none of that name.
int64_t number(const CommError& error, const char* arg) {
    const MessageValue* value = error.message().find(arg);
    return value == nullptr ? -1 : std::get<int64_t>(*value);
}

}  // namespace

TEST_CASE("a rank that throws stops all others, and its error is the one that comes out") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend))
            for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct})
                for (int32_t failing = 0; failing < 4; ++failing) {
                    const auto [whole, each] = outcomes(backend, 4, mode, [&](Rank& rank) {
                        const auto world = rank.world(algorithm);
                        for (int i = 0; i < 5; ++i) {
                            const Tensor t = rank.floats(std::vector<float>(100, 1));
                            if (i == 3 && rank.rank() == failing) throw std::runtime_error("out of luck");
                            world->all_reduce(t, ReduceOp::sum).wait();
                        }
                    });
                    CHECK(whole == "out of luck");
                    for (int32_t r = 0; r < 4; ++r)
                        CHECK(each[static_cast<std::size_t>(r)] ==
                              (r == failing ? "out of luck" : "comm.aborted*"));
                }
}

TEST_CASE("a rank that fails with works under way does not leave its peers, or itself, waiting") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend))
            for (int i = 0; i < 20; ++i) {
                const auto [whole, each] = outcomes(backend, 3, mode, [&](Rank& rank) {
                    const auto world = rank.world(i % 2 == 0 ? Algorithm::ring : Algorithm::direct);
                    const Tensor t = rank.floats(std::vector<float>(5000, 1));
                    Work a = world->all_reduce(t, ReduceOp::sum);
                    if (rank.rank() == 1) throw std::runtime_error("dropped everything");
                    a.wait();
                    const Tensor u = rank.floats(std::vector<float>(5000, 1));
                    world->all_reduce(u, ReduceOp::sum).wait();
                });
                CHECK(whole == "dropped everything");
                CHECK(each[1] == "dropped everything");
            }
}

TEST_CASE("the first of several errors in time is reported") {
    for (const std::string& backend : backends_under_test()) {
        std::atomic<bool> first_is_out{false};
        const std::string whole = outcome([&] {
            const auto world = open_world(backend, 3);
            world->run([&](comm::Transport& transport) {
                if (transport.rank().value == 2) {
                    first_is_out = true;
                    throw std::runtime_error("first");
                }
                // Blocked until rank 2's failure is known, then an error of its own.
                try {
                    transport.receive(GlobalRank{2}, comm::Channel{0}, 4, [](auto) {});
                } catch (const CommError&) {
                    throw std::runtime_error("later");
                }
            });
        });
        CHECK(first_is_out);
        CHECK(whole == "first");
    }
}

TEST_CASE("different counts are found, on both sides, with both ranks and sizes") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend))
            for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
                const auto [whole, each] = outcomes(backend, 2, mode, [&](Rank& rank) {
                    const Tensor t = rank.floats(std::vector<float>(rank.rank() == 0 ? 10 : 12, 1));
                    rank.world(algorithm)->all_reduce(t, ReduceOp::sum).wait();
                });
                CHECK(whole == "comm.size_mismatch");
                // One finds it, the other is told of it: neither has failed by itself.
                for (const std::string& one : each)
                    CHECK((one == "comm.size_mismatch" || one == "comm.size_mismatch*"));
            }
}

TEST_CASE("the sender of a message of the wrong size learns both sizes") {
    for (const std::string& backend : backends_under_test()) {
        struct Told {
            int64_t src = 0, dst = 0, channel = 0, sent = 0, expected = 0;
            bool secondary = true;
        };
        std::vector<Told> told(2);
        const auto world = open_world(backend, 2);
        const std::string whole = outcome([&] {
            world->run([&](comm::Transport& transport) {
                const std::vector<std::byte> data(12);
                try {
                    if (transport.rank().value == 0)
                        transport.wait(transport.post(GlobalRank{1}, comm::Channel{5}, data));
                    else
                        transport.receive(GlobalRank{0}, comm::Channel{5}, 16, [](auto) {});
                } catch (const CommError& e) {
                    told[static_cast<std::size_t>(transport.rank().value)] = {number(e, "src"),
                                                                              number(e, "dst"),
                                                                              number(e, "channel"),
                                                                              number(e, "sent_bytes"),
                                                                              number(e, "expected_bytes"),
                                                                              e.secondary()};
                    throw;
                }
            });
        });
        CHECK(whole == "comm.size_mismatch");
        for (const Told& t : told) {
            CHECK(t.src == 0);
            CHECK(t.dst == 1);
            CHECK(t.channel == 5);
            CHECK(t.sent == 12);
            CHECK(t.expected == 16);
            CHECK_FALSE(t.secondary);
        }
    }
}

TEST_CASE("waiting for a rank that has ended is an error, not a hang") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend))
            for (const bool late : {false, true}) {
                const auto [whole, each] = outcomes(backend, 3, mode, [&](Rank& rank) {
                    const auto world = rank.world(Algorithm::direct);
                    const Tensor t = rank.floats({1});
                    world->all_reduce(t, ReduceOp::sum).wait();
                    // Rank 1 makes one call fewer: the classic of uneven batches.
                    if (rank.rank() == 1) {
                        if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                        return;
                    }
                    world->all_reduce(t, ReduceOp::sum).wait();
                });
                CHECK(whole == "comm.peer_finished");
                CHECK(each[1] == "fine");
            }
}

TEST_CASE("a message that nobody takes is an error of its sender") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            const auto [whole, each] = outcomes(backend, 2, mode, [&](Rank& rank) {
                if (rank.rank() == 0) rank.world()->send(rank.floats({1}), GroupRank{1}).wait();
            });
            CHECK(whole == "comm.never_received");
            CHECK(each[0] == "comm.never_received");
            CHECK(each[1] == "fine");
        }
}

TEST_CASE("what a rank sent before it ended can still be received") {
    for (const std::string& backend : backends_under_test()) {
        const auto world = open_world(backend, 2);
        std::vector<std::byte> got;
        const std::vector<std::byte> data(3, std::byte{9});
        world->run([&](comm::Transport& transport) {
            if (transport.rank().value == 0) {
                const auto ticket = transport.post(GlobalRank{1}, comm::Channel{0}, data);
                transport.wait(ticket);
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                transport.receive(GlobalRank{0}, comm::Channel{0}, 3,
                                  [&](auto bytes) { got.assign(bytes.begin(), bytes.end()); });
            }
        });
        CHECK((got == data));
    }
}

TEST_CASE("collectives issued in different orders are a deadlock that is found and told") {
    for (const std::string& backend : backends_that_see_deadlocks())
        for (const Mode mode : modes_of(backend))
            for (int i = 0; i < 10; ++i) {
                const auto [whole, each] = outcomes(backend, 3, mode, [&](Rank& rank) {
                    // Rank 1 is in two pairs. It begins with {1,2} while 2 waits for 0 and 0 for 1.
                    const Tensor t = rank.floats({1});
                    const int32_t r = rank.rank();
                    const auto ab = r != 2 ? rank.group(0, {0, 1}) : nullptr;
                    const auto bc = r != 0 ? rank.group(1, {1, 2}) : nullptr;
                    const auto ac = r != 1 ? rank.group(2, {0, 2}) : nullptr;
                    if (r == 0)
                        ab->all_reduce(t, ReduceOp::sum).wait(), ac->all_reduce(t, ReduceOp::sum).wait();
                    if (r == 1)
                        bc->all_reduce(t, ReduceOp::sum).wait(), ab->all_reduce(t, ReduceOp::sum).wait();
                    if (r == 2)
                        ac->all_reduce(t, ReduceOp::sum).wait(), bc->all_reduce(t, ReduceOp::sum).wait();
                });
                CHECK(whole == "comm.deadlock");
                int32_t first = 0;
                // All are told the same, where the backend can know it.
                for (const std::string& one : each) {
                    first += one == "comm.deadlock" ? 1 : 0;
                    CHECK((one == "comm.deadlock" || one == "comm.deadlock*" || one == "comm.aborted*"));
                }
                CHECK(first <= 1);
            }
}

TEST_CASE("a deadlock names who waits for whom") {
    for (const std::string& backend : backends_that_see_deadlocks()) {
        std::string waits;
        int32_t rank = -1;
        try {
            open_world(backend, 3)->run([&](comm::Transport& transport) {
                if (transport.rank().value == 2) return;  // ended ranks do not count
                transport.receive(GlobalRank{1 - transport.rank().value}, comm::Channel{0}, 4, [](auto) {});
            });
        } catch (const CommError& error) {
            waits = std::get<std::string>(*error.message().find("waits"));
            rank = error.rank().value;
        }
        CHECK(waits == "0 → 1, 1 → 0");
        CHECK(rank == 0);
    }
}

TEST_CASE("a wrong call is refused before anything is sent") {
    for (const std::string& backend : backends_under_test()) {
        const auto [whole, each] = outcomes(backend, 2, Mode::inline_in_wait, [&](Rank& rank) {
            const auto world = rank.world();
            if (rank.rank() == 1) {
                world->all_reduce(rank.zeros(3, DType::int32), ReduceOp::avg).wait();
                return;
            }
            world->all_reduce(rank.zeros(3), ReduceOp::avg).wait();
        });
        CHECK(whole == "comm.reduce_op_not_for_dtype(reduce_op=avg, dtype=int32)");
        CHECK(each[0] == "comm.aborted*");
    }
}

TEST_CASE("a world that failed can be run again") {
    for (const std::string& backend : backends_under_test()) {
        const auto world = open_world(backend, 2);
        CHECK(outcome([&] {
                  world->run([](comm::Transport& transport) {
                      if (transport.rank().value == 0) throw std::runtime_error("once");
                      transport.receive(GlobalRank{0}, comm::Channel{0}, 1, [](auto) {});
                  });
              }) == "once");
        CHECK(outcome([&] { world->run([](comm::Transport&) {}); }) == "fine");
    }
}

TEST_CASE("after a call that waits has failed, every later one and finish() deliver its error") {
    for (const std::string& backend : backends_under_test())
        for (const Mode mode : modes_of(backend)) {
            std::array<std::string, 4> told;  // rank 0's
            const auto [whole, each] = outcomes(backend, 2, mode, [&](Rank& rank) {
                const auto world = rank.world();
                const Tensor t = rank.floats({1, 2});
                if (rank.rank() == 1) throw std::runtime_error("mine");
                const CallOptions waits{.async_op = false};
                told = {outcome([&] { world->all_reduce(t, ReduceOp::sum, waits); }),
                        outcome([&] { world->all_reduce(t, ReduceOp::max, waits); }),
                        outcome([&] { world->broadcast(t, GroupRank{0}).wait(); }),
                        outcome([&] { rank.executor.finish(); })};
            });
            CHECK(whole == each[1]);
            CHECK(told[0] != "fine");
            for (const std::string& later : told) CHECK(later == told[0]);
        }
}
