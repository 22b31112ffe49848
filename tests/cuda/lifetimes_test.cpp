// What one rank's queues free, another rank's queue may still be reading.
#include <vector>

#include "tests/contract/harness.h"
#include "tests/cuda/slow.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

TEST_CASE("what was sent lies there until its receiver's queue has read it, whatever is sent next") {
    const gpu_test::Slow slow(100'000);
    const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8};
    for (const Mode mode : {Mode::inline_in_wait, Mode::helper_thread}) {
        const auto results = run_ranks("cuda", 2, mode, [&](Rank& rank) {
            const auto world = rank.world();
            const Tensor first = rank.floats(numbers), second = rank.floats({9});
            if (rank.rank() == 0) {
                world->send(first, GroupRank{1}, {.stream = Stream::p2p}).wait();
                world->send(second, GroupRank{1}, {.stream = Stream::p2p}).wait();
            } else {
                // Its queue comes to the message long after the sender knows that it was taken.
                for (int i = 0; i < 300; ++i) rank.zeros(1);
                const Tensor got = rank.zeros(8);
                world->recv(got, GroupRank{0}).wait();
                world->recv(second, GroupRank{0}).wait();
                return floats_of(got);
            }
            return numbers;
        });
        for (const auto& got : results) CHECK(got == numbers);
    }
}
