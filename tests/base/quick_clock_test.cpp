#include "core/base/quick_clock.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/test.h"

using meshscope::QuickClock;
using meshscope::steady_ns;

namespace {

/// What the two may differ by: half of what reading both at once may take, and as much again.
constexpr int64_t kApartNs = 1000;

}  // namespace

TEST_CASE("the quick clock keeps to the steady clock", "[base]") {
    QuickClock clock;
    const int64_t until = steady_ns() + 20'000'000;  // some thousand readings of the clock itself
    int64_t farthest = 0;
    while (true) {
        const int64_t before = steady_ns();
        const int64_t begin = clock.begin_ns();
        const int64_t end = clock.end_ns();
        const int64_t after = steady_ns();
        farthest = std::max({farthest, before - begin, end - after});
        if (after > until) break;
    }
    CHECK(farthest <= kApartNs);
}

TEST_CASE("the quick clock never goes back", "[base]") {
    QuickClock clock;
    int64_t last = clock.begin_ns();
    bool back = false;
    for (int i = 0; i < 1'000'000; ++i) {
        const int64_t now = i % 2 == 0 ? clock.begin_ns() : clock.end_ns();
        back = back || now < last;
        last = now;
    }
    CHECK_FALSE(back);
}

TEST_CASE("by the quick clock nothing ends before what it waited for began", "[base]") {
    constexpr int kTurns = 20'000;
    std::atomic<int> turn{0};
    std::atomic<int64_t> said{0};
    int64_t farthest = 0;
    const auto play = [&](int mine, int64_t& worst) {
        QuickClock clock;
        for (int i = mine; i < kTurns; i += 2) {
            while (turn.load(std::memory_order_acquire) != i) std::this_thread::yield();
            worst = std::max(worst, said.load(std::memory_order_relaxed) - clock.end_ns());
            said.store(clock.begin_ns(), std::memory_order_relaxed);
            turn.store(i + 1, std::memory_order_release);
        }
    };
    int64_t other = 0;
    std::thread second([&] { play(1, other); });
    play(0, farthest);
    second.join();
    CHECK(std::max(farthest, other) <= kApartNs);
}
