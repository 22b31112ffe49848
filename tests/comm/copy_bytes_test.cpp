#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/comm/copy_bytes.h"
#include "tests/contract/harness.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::contract;

namespace {

std::byte number(int64_t i) {
    return static_cast<std::byte>((i * 2654435761) >> 7);
}

}  // namespace

TEST_CASE("a copy past the cache copies every byte and no other, wherever its ends lie") {
    constexpr int64_t kGuard = 80;
    std::vector<std::byte> from(1000);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = number(static_cast<int64_t>(i));
    const std::byte untouched{0xEE};
    for (int64_t to_at = 0; to_at < 66; ++to_at)
        for (int64_t from_at : {0, 1, 4, 15, 63})
            for (int64_t bytes : {0, 1, 3, 63, 64, 65, 127, 128, 129, 200, 511}) {
                std::vector<std::byte> to(static_cast<std::size_t>(kGuard + to_at + bytes + kGuard),
                                          untouched);
                comm::copy_past_cache(to.data() + kGuard + to_at, from.data() + from_at, bytes);
                const auto begin = to.begin() + kGuard + to_at;
                INFO("to " << to_at << ", from " << from_at << ", " << bytes << " bytes");
                REQUIRE(std::equal(begin, begin + bytes, from.begin() + from_at));
                const auto is_untouched = [&](std::byte b) { return b == untouched; };
                REQUIRE(std::all_of(to.begin(), begin, is_untouched));
                REQUIRE(std::all_of(begin + bytes, to.end(), is_untouched));
            }
    comm::copy_past_cache(nullptr, nullptr, 0);
    comm::copy_past_cache(from.data(), from.data(), 1000);
    CHECK(from[999] == number(999));
}

// Buffers so large, together, that they are written past the caches: the others must still see all of it.
TEST_CASE("large broadcasts and all_gathers at a table bring every number, in call after call") {
    constexpr int32_t kRanks = 3;
    constexpr int64_t kPart = 600'001;  // 2.4 MB a rank; nothing begins at a cache line
    const auto wrong = run_ranks("threads", kRanks, Mode::inline_in_wait, [&](Rank& rank) {
        const auto world = rank.world(Algorithm::direct);
        const auto expected = [](int32_t owner, int64_t i, int32_t call) {
            return static_cast<float>((i * 7 + owner * 1000 + call * 13) % 8191);
        };
        int64_t n_wrong = 0;
        const tensor::Tensor mine = rank.zeros(kPart), all = rank.zeros(kPart * kRanks);
        for (int32_t call = 0; call < 3; ++call) {
            const auto own = mine.data<float>();
            for (int64_t i = 0; i < kPart; ++i)
                own[static_cast<std::size_t>(i)] = expected(rank.rank(), i, call);
            world->all_gather(all, mine).wait();
            const auto got = all.data<float>();
            for (int64_t i = 0; i < kPart * kRanks; ++i)
                n_wrong += got[static_cast<std::size_t>(i)] !=
                           expected(static_cast<int32_t>(i / kPart), i % kPart, call);
            // Every root in turn; what it gives is what all gathered, shifted by one.
            if (rank.rank() == call) std::rotate(got.begin(), got.begin() + 1, got.end());
            world->broadcast(all, GroupRank{call}).wait();
            for (int64_t i = 0; i + 1 < kPart * kRanks; ++i)
                n_wrong += got[static_cast<std::size_t>(i)] !=
                           expected(static_cast<int32_t>((i + 1) / kPart), (i + 1) % kPart, call);
        }
        return n_wrong;
    });
    for (const int64_t n : wrong) CHECK(n == 0);
}
