#include <atomic>
#include <set>
#include <thread>
#include <tuple>

#include "core/base/error.h"
#include "core/comm/interleaving_scheduler.h"
#include "tests/diagnosis/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::diagnosis;
using comm::InterleavingScheduler;
using comm::NextStep;

namespace {

/// Writes down what another scheduler chooses among.
class Noting final : public InterleavingScheduler {
  public:
    explicit Noting(InterleavingScheduler& inner) : inner_(inner) {}
    std::size_t choose(std::span<const NextStep> runnable) override {
        const std::size_t chosen = inner_.choose(runnable);
        const NextStep& next = runnable[chosen];
        std::string line = std::to_string(next.rank.value) + " " + std::string(name(next.what)) + " " +
                           std::to_string(next.peer.value) + " of";
        for (const NextStep& each : runnable) line += " " + std::to_string(each.rank.value);
        if (next.call != nullptr) line += " in " + std::string(meshscope::name(next.call->op));
        lines.push_back(line);
        return chosen;
    }
    std::vector<std::string> lines;

  private:
    InterleavingScheduler& inner_;
};

void training_like(Place& p) {
    const auto world = p.world();
    for (int i = 0; i < 3; ++i) {
        world->all_gather(p.zeros(4 * p.ranks()), p.zeros(4)).wait();
        world->reduce_scatter(p.zeros(4), p.zeros(4 * p.ranks()), ReduceOp::sum).wait();
    }
    world->barrier().wait();
}

std::vector<std::string> order(InterleavingScheduler& scheduler, const Program& program,
                               const char* backend = "threads") {
    Noting noting(scheduler);
    const Outcome outcome = run_program(backend, {3, &noting}, false, program);
    for (const std::string& words : outcome.words) CHECK(words.empty());
    return noting.lines;
}

}  // namespace

TEST_CASE("a seed gives one order, always the same, on threads and on fibers: another seed another") {
    std::set<std::vector<std::string>> orders;
    for (uint64_t seed = 0; seed < 8; ++seed) {
        const auto once = order(*comm::random_scheduler(seed), training_like);
        CHECK(once == order(*comm::random_scheduler(seed), training_like));
        CHECK(once.size() > 100);
        orders.insert(once);
        const auto pct = order(*comm::pct_scheduler(seed, 3, 200), training_like);
        CHECK(pct == order(*comm::pct_scheduler(seed, 3, 200), training_like));
        CHECK(once == order(*comm::random_scheduler(seed), training_like, "fibers"));
        CHECK(pct == order(*comm::pct_scheduler(seed, 3, 200), training_like, "fibers"));
        orders.insert(pct);
    }
    CHECK(orders.size() >= 14);  // two priorities' orders of three ranks may agree
}

TEST_CASE("the helper thread is not used in a stepped world: only one rank runs at a time") {
    std::atomic<int> running{0}, most{0}, with_helper{0};
    const auto scheduler = comm::random_scheduler(5);
    const Outcome outcome = run_program(
        "threads", {4, scheduler.get()}, false,
        [&](Place& p) {
            with_helper += p.executor.mode() == StreamExecutor::Mode::helper_thread ? 1 : 0;
            const auto world = p.world();
            for (int i = 0; i < 20; ++i) {
                // Between two points of the transport nobody else may come.
                most = std::max(most.load(), ++running);
                std::this_thread::yield();
                --running;
                world->barrier().wait();
            }
        },
        StreamExecutor::Mode::helper_thread);
    CHECK(most == 1);
    CHECK(with_helper == 0);
    for (const std::string& words : outcome.words) CHECK(words.empty());
}

TEST_CASE("a person can hold every rank and let one go on, hop by hop") {
    /// Lets the highest rank run as far as it can, then the next: what a window's buttons do.
    class Highest final : public InterleavingScheduler {
      public:
        std::size_t choose(std::span<const NextStep> runnable) override {
            seen.emplace_back(runnable.size(), runnable.back().rank.value, runnable.back().what);
            return runnable.size() - 1;
        }
        std::vector<std::tuple<std::size_t, int32_t, NextStep::What>> seen;
    };
    Highest scheduler;
    const Outcome outcome = run_program("threads", {3, &scheduler}, false, [](Place& p) {
        const auto world = p.world();
        if (p.rank() == 2) world->send(p.zeros(1), GroupRank{0}).wait();
        if (p.rank() == 0) world->recv(p.zeros(1), GroupRank{2}).wait();
    });
    for (const std::string& words : outcome.words) CHECK(words.empty());
    using What = NextStep::What;
    const std::vector<std::tuple<std::size_t, int32_t, What>> expected{
        {3, 2, What::start},    // all stand at their start
        {3, 2, What::post},     // rank 2 is about to send
        {3, 2, What::wait},     // and to see whether it was taken: it waits
        {2, 1, What::start},    // rank 1 has nothing to do
        {2, 2, What::wait},     // its end wakes rank 2, which looks again
        {1, 0, What::start},    // rank 0 begins
        {1, 0, What::receive},  // and takes the message
    };
    REQUIRE(scheduler.seen.size() >= expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO(i);
        CHECK(scheduler.seen[i] == expected[i]);
    }
}

TEST_CASE("a deadlock in a stepped world is found like any other, and names the same ring") {
    for (uint64_t seed = 0; seed < 50; ++seed) {
        const auto scheduler = comm::random_scheduler(seed);
        const char* const backend = seed % 2 == 0 ? "threads" : "fibers";
        const Outcome outcome = run_program(backend, {4, scheduler.get()}, true, [](Place& p) {
            const auto world = p.world();
            world->recv(p.zeros(1), GroupRank{(p.rank() + 1) % 4}).wait();
        });
        for (const auto& told : outcome.told) {
            REQUIRE(told.has_value());
            CHECK(told->cycle == std::vector<int32_t>{0, 1, 2, 3});
        }
    }
}

TEST_CASE("a buffer that is changed before its wait is found by some order, though most runs get it right") {
    // Rank 0 posts, writes over the buffer, then waits: the bug of a missing wait(). Rank 1 reads 1 when it
    // comes at once, 2 when it comes late.
    std::set<int> random, pct;
    for (uint64_t seed = 0; seed < 60; ++seed)
        for (const bool by_priority : {false, true}) {
            const auto scheduler =
                by_priority ? comm::pct_scheduler(seed, 2, 8) : comm::random_scheduler(seed);
            run_program("threads", {2, scheduler.get()}, false, [&](Place& p) {
                if (p.rank() == 0) {
                    std::byte data{1};
                    const auto ticket = p.transport.post(GlobalRank{1}, {0}, {&data, 1});
                    // Another message: the point at which rank 1 may come first.
                    const auto other = p.transport.post(GlobalRank{1}, {1}, {});
                    data = std::byte{2};
                    p.transport.wait(ticket);
                    p.transport.wait(other);
                } else {
                    p.transport.receive(GlobalRank{0}, {0}, 1, [&](auto bytes) {
                        (by_priority ? pct : random).insert(static_cast<int>(bytes[0]));
                    });
                    p.transport.receive(GlobalRank{0}, {1}, 0, [](auto) {});
                }
            });
        }
    CHECK(random == std::set<int>{1, 2});
    CHECK(pct == std::set<int>{1, 2});
}

TEST_CASE("two collectives in swapped order are found in every order of the ranks, checked or not") {
    for (uint64_t seed = 0; seed < 100; ++seed)
        for (const bool checked : {false, true}) {
            const auto scheduler = comm::pct_scheduler(seed, 3, 40);
            const Outcome outcome = run_program("threads", {3, scheduler.get()}, checked, [](Place& p) {
                const auto a = p.world(0), b = p.world(1);
                TransportGroup& first = p.rank() == 1 ? *b : *a;
                TransportGroup& then = p.rank() == 1 ? *a : *b;
                first.all_reduce(p.zeros(6), ReduceOp::sum).wait();
                then.all_reduce(p.zeros(6), ReduceOp::sum).wait();
            });
            for (const auto& told : outcome.told) {
                REQUIRE(told.has_value());
                CHECK(told->kind == DiagnosisKind::deadlock);
                CHECK(told->cycle.size() >= 2);
            }
        }
}

TEST_CASE("a schedule is written as a word, and what is none is refused") {
    for (const char* good : {"random:0", "random:18446744073709551615", "pct:3:1", "pct:3:2:5000"})
        CHECK_NOTHROW(comm::make_scheduler(good));
    for (const char* bad :
         {"", "random", "random:", "random:-1", "random:x", "random:1:2", "pct:1", "pct:1:0", "pct:1:101",
          "pct:1:2:0", "pct:1:2:3:4", "fair:1", "random:18446744073709551616"})
        CHECK_THROWS_AS(comm::make_scheduler(bad), InvalidArgument);
}
