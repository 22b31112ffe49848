// A page has 32-bit addresses, at most 2 GB of them memory, and its mmap() fills what it maps. Here blocks
// get addresses beyond all memory, each a beginning of its own: a model of any size has room, and whoever
// touched one would be stopped by the browser.
#include <vector>

#include "core/tensor/dry_blocks.h"

namespace meshscope::tensor {
namespace {

/// No multiple of what a tensor's part lies off its beginning, which is mostly one of a power of two: else a
/// part of one block could begin where another block does.
constexpr std::uintptr_t kFirst = std::uintptr_t{1} << 31, kApart = std::uintptr_t{64} * 509;
constexpr std::size_t kMost = (std::size_t{1} << 31) / kApart - 1;

/// Which of the beginnings are handed out is the process's, as its addresses are.
struct Beginnings {
    std::vector<std::uintptr_t> free;
    std::size_t used = 0;
};
Beginnings& beginnings() {
    static Beginnings all;
    return all;
}

}  // namespace

std::byte* untouched_block(int64_t /*bytes*/) {
    Beginnings& all = beginnings();
    if (all.free.empty() && all.used == kMost) return nullptr;
    std::uintptr_t at = kFirst + all.used * kApart;
    if (all.free.empty()) {
        ++all.used;
        all.free.reserve(all.used);  // so that giving it back cannot fail
    } else {
        at = all.free.back();
        all.free.pop_back();
    }
    return reinterpret_cast<std::byte*>(at);
}

void free_untouched_block(std::byte* block, int64_t /*bytes*/) noexcept {
    beginnings().free.push_back(reinterpret_cast<std::uintptr_t>(block));
}

}  // namespace meshscope::tensor
