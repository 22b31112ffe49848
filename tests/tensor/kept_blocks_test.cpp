#include "core/tensor/kept_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

/// Blocks of these sizes, one behind the other.
std::vector<std::byte*> row_of(LargeBlocks& blocks, const std::vector<int64_t>& sizes) {
    const int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    std::byte* const memory = blocks.take(all);
    REQUIRE(memory != nullptr);
    blocks.put(memory, all);
    std::vector<std::byte*> row;
    for (const int64_t size : sizes) row.push_back(blocks.take(size));
    REQUIRE(row.front() == memory);
    REQUIRE(row.back() == memory + all - sizes.back());
    return row;
}

/// Whether the mapping that holds `memory` asks for huge pages: "hg" among its flags in /proc/self/smaps.
bool asks_for_huge_pages(const std::byte* memory) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(memory);
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        if (words >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= wanted && wanted < end;
        if (inside && line.starts_with("VmFlags:")) return (line + ' ').find(" hg ") != std::string::npos;
    }
    return false;
}

}  // namespace

TEST_CASE("a freed region serves smaller requests by parts and is whole again when they are freed") {
    LargeBlocks blocks;
    std::byte* const whole = blocks.take(10 * kMiB);
    REQUIRE(whole != nullptr);
    whole[10 * kMiB - 1] = std::byte{7};
    blocks.put(whole, 10 * kMiB);
    for (int i = 0; i < 3; ++i) {
        std::byte* const first = blocks.take(4 * kMiB);
        std::byte* const second = blocks.take(3 * kMiB - 5);  // to the next page
        std::byte* const third = blocks.take(3 * kMiB);
        CHECK(first == whole);
        CHECK(second == whole + 4 * kMiB);
        CHECK(third == whole + 7 * kMiB);
        blocks.put(second, 3 * kMiB - 5);  // in the middle, then joined from both sides
        blocks.put(i == 1 ? first : third, i == 1 ? 4 * kMiB : 3 * kMiB);
        blocks.put(i == 1 ? third : first, i == 1 ? 3 * kMiB : 4 * kMiB);
        CHECK(blocks.take(10 * kMiB) == whole);
        CHECK(whole[10 * kMiB - 1] == std::byte{7});  // nothing was given to the system
        blocks.put(whole, 10 * kMiB);
    }
}

TEST_CASE("of the freed regions that would do the smallest serves, of equal ones the youngest") {
    LargeBlocks blocks;
    // Those in use between them keep them apart.
    const auto taken =
        row_of(blocks, {10 * kMiB, kMiB, 9 * kMiB, kMiB, 9 * kMiB, kMiB, 9 * kMiB, kMiB, 10 * kMiB});
    blocks.put(taken[0], 10 * kMiB);
    blocks.put(taken[2], 9 * kMiB);
    blocks.put(taken[6], 9 * kMiB);
    blocks.put(taken[4], 9 * kMiB);
    blocks.put(taken[8], 10 * kMiB);
    CHECK(blocks.take(9 * kMiB) == taken[4]);
    CHECK(blocks.take(8 * kMiB) == taken[6]);
    CHECK(blocks.take(8 * kMiB) == taken[2]);
    CHECK(blocks.take(8 * kMiB) == taken[8]);
    CHECK(blocks.take(kMiB) == taken[6] + 8 * kMiB);  // a rest is as old as what it is left of
}

TEST_CASE("blocks that hold a huge page ask for some") {
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) return;  // a kernel without
    LargeBlocks blocks;
    std::byte* const small = blocks.take(3 * kMiB);
    std::byte* const large = blocks.take(4 * kMiB);
    CHECK_FALSE(asks_for_huge_pages(small));
    CHECK(asks_for_huge_pages(large));
    blocks.put(small, 3 * kMiB);
    blocks.put(large, 4 * kMiB);
}

TEST_CASE("for what the machine has no room, kept regions go back first") {
    LargeBlocks blocks;
    std::byte* const memory = blocks.take(8 * kMiB);
    REQUIRE(memory != nullptr);
    blocks.put(memory, 8 * kMiB);
    unsigned char page = 0;
    CHECK(mincore(memory, 1, &page) == 0);
    std::byte* const none = blocks.take(int64_t{1} << 50);
    const bool unmapped = mincore(memory, 1, &page) == -1 && errno == ENOMEM;
    CHECK(none == nullptr);
    CHECK(unmapped);
}

TEST_CASE("kept regions that serve no request go back to the system, the oldest first") {
    LargeBlocks blocks;
    CHECK(blocks.take(int64_t{1} << 50) == nullptr);  // does not count as in use
    constexpr int64_t kBlocks = 64;
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < kBlocks; ++i) sizes.insert(sizes.end(), {kMiB, kMiB / 4});
    const auto row = row_of(blocks, sizes);
    std::vector<std::byte*> small;
    for (std::size_t i = 0; i < row.size(); i += 2) small.push_back(row[i]);
    for (std::byte* memory : small) blocks.put(memory, kMiB);
    std::byte* const large = blocks.take(32 * kMiB);  // none of them holds it
    REQUIRE(large != nullptr);
    // 80 MiB were in use at most: 2 more may stay mapped, so of 64 kept ones 30 are gone.
    std::vector<std::byte*> again;
    for (int64_t i = 0; i < kBlocks / 2; ++i) again.push_back(blocks.take(kMiB));
    for (std::byte* memory : again) CHECK(std::ranges::count(small, memory) == 1);
    CHECK(std::ranges::count(again, small[0]) == 0);
    CHECK(std::ranges::count(again, small[kBlocks - 1]) == 1);
}
