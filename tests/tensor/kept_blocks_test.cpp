#include "core/tensor/kept_blocks.h"

#include <cstddef>

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

}  // namespace

TEST_CASE("a large block serves requests of its size and a little less, again and again") {
    LargeBlocks blocks;
    std::byte* const first = blocks.take(10 * kMiB);
    REQUIRE(first != nullptr);
    first[10 * kMiB - 1] = std::byte{7};
    blocks.put(first, 10 * kMiB);
    for (int i = 0; i < 3; ++i) {
        std::byte* const less = blocks.take(8 * kMiB);  // a fifth less
        CHECK(less == first);
        blocks.put(less, 8 * kMiB);
        std::byte* const whole = blocks.take(10 * kMiB);  // its end was not given away
        CHECK(whole == first);
        CHECK(whole[10 * kMiB - 1] == std::byte{7});
        blocks.put(whole, 10 * kMiB);
    }
    // Of two that would do, the smaller one.
    std::byte* const larger = blocks.take(10 * kMiB);
    std::byte* const smaller = blocks.take(9 * kMiB);
    blocks.put(larger, 10 * kMiB);
    blocks.put(smaller, 9 * kMiB);
    CHECK(blocks.take(8 * kMiB) == smaller);
    blocks.put(smaller, 8 * kMiB);
}

TEST_CASE("a large block is not spent on a request that is much smaller") {
    LargeBlocks blocks;
    std::byte* const large = blocks.take(64 * kMiB);
    blocks.put(large, 64 * kMiB);
    std::byte* const small = blocks.take(kMiB);
    CHECK(small != large);
    CHECK(blocks.take(64 * kMiB) == large);
    blocks.put(small, kMiB);
    blocks.put(large, 64 * kMiB);
}
