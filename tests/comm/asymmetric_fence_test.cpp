#include "backends/threads/asymmetric_fence.h"

#include <atomic>
#include <thread>

#include "tests/test.h"

using meshscope::backends::threads::AsymmetricFence;

namespace {

constexpr int kRounds = 20'000;
constexpr int kSpins = 2000;
constexpr int kLag = 1000;

struct alignas(64) Word {
    std::atomic<int> value{0};
};

/// Two threads say something and then look for what the other says, round by round; gives in how many rounds
/// neither saw the other.
template <class Mine, class Other>
int blind_rounds(const Mine& mine, const Other& other) {
    Word said[2], begun[2];
    int saw[2][kRounds + 1];
    const auto play = [&](int me, const auto& fence) {
        for (int round = 1; round <= kRounds; ++round) {
            // Both in the same moment, or nothing is shown: one begins later by more each round, anew and
            // anew.
            begun[me].value.store(round, std::memory_order_release);
            for (int i = 0; begun[1 - me].value.load(std::memory_order_acquire) < round; ++i)
                if (i > kSpins) std::this_thread::yield();
            for (int i = 0; i < (me == 0 ? kLag / 2 : round % kLag); ++i)
                std::atomic_signal_fence(std::memory_order_seq_cst);
            said[me].value.store(round, std::memory_order_relaxed);
            fence();
            saw[me][round] = said[1 - me].value.load(std::memory_order_relaxed);
        }
    };
    std::thread second([&] { play(1, other); });
    play(0, mine);
    second.join();
    int blind = 0;
    for (int round = 1; round <= kRounds; ++round)
        blind += saw[0][round] < round && saw[1][round] < round ? 1 : 0;
    return blind;
}

}  // namespace

TEST_CASE("across an asymmetric fence one of the two sees the other") {
    AsymmetricFence fence;
    const bool asymmetric = GENERATE(false, true);
    if (asymmetric) fence.make_asymmetric();
    CHECK(blind_rounds([&] { fence.light(); }, [&] { fence.heavy(); }) == 0);
}
