#include "core/tensor/kept_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "core/tensor/room.h"

namespace meshscope::tensor {
namespace {

constexpr int64_t kLine = 64;
constexpr std::align_val_t kAlignment{kLine};
constexpr int64_t kSpareSmall = int64_t{1} << 20;
constexpr int64_t kSpareLarge = int64_t{2} << 20;
/// From this size on a block surely has a whole huge page of 2 MiB in it, wherever it begins.
constexpr int64_t kHugeFrom = int64_t{4} << 20;

int64_t whole_pages(int64_t bytes) {
    static const int64_t page = sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

int64_t whole_lines(int64_t bytes) {
    return (bytes + kLine - 1) / kLine * kLine;
}

/// A block this large may use up what the machine has left, and is worth asking the system for.
constexpr int64_t kAskedBytes = int64_t{64} << 20;

/// What can be had without pushing others out: /proc/meminfo's MemAvailable. Where nothing tells it, no
/// limit.
int64_t available_bytes() {
    std::ifstream meminfo("/proc/meminfo");
    std::string key, unit;
    for (int64_t kilobytes = 0; meminfo >> key >> kilobytes; std::getline(meminfo, unit))
        if (key == "MemAvailable:") return kilobytes * 1024;
    return std::numeric_limits<int64_t>::max();
}

}  // namespace

bool has_room(int64_t bytes) {
    return bytes < kAskedBytes || bytes <= available_bytes();
}

std::byte* new_block(int64_t bytes) noexcept {
    return static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow));
}

void delete_block(std::byte* memory) noexcept {
    ::operator delete(memory, kAlignment);
}

// large blocks ----------------------------------------------------------------------------------------------

LargeBlocks::~LargeBlocks() {
    for (const auto& [memory, region] : kept_) munmap(memory, static_cast<std::size_t>(region.bytes));
}

std::byte* LargeBlocks::take(int64_t bytes) {
    const int64_t size = whole_pages(bytes);
    const std::lock_guard lock(mutex_);
    const int64_t most = std::max(most_in_use_, in_use_ + size);
    std::byte* memory = take_kept(size);
    if (memory == nullptr) {
        unmap(mapped_ + size - whole_pages(most + std::max(kSpareLarge, most / 64)));
        memory = map(size);
    }
    if (memory == nullptr) {
        unmap(mapped_);
        memory = map(size);
    }
    if (memory == nullptr) return nullptr;
    in_use_ += size;
    most_in_use_ = most;
    return memory;
}

std::byte* LargeBlocks::map(int64_t size) {
    if (!has_room(size)) return nullptr;
    const auto held = lock_for_mapping();
    void* const memory = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (size >= kHugeFrom) madvise(memory, static_cast<std::size_t>(size), MADV_HUGEPAGE);
    mapped_ += size;
    return static_cast<std::byte*>(memory);
}

std::byte* LargeBlocks::take_kept(int64_t size) {
    auto best = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
        if (it->second.bytes < size) continue;
        if (best == kept_.end() || it->second.bytes < best->second.bytes ||
            (it->second.bytes == best->second.bytes && it->second.freed > best->second.freed))
            best = it;
    }
    if (best == kept_.end()) return nullptr;
    std::byte* const memory = best->first;
    auto node = kept_.extract(best);
    if (node.mapped().bytes > size) {
        node.key() += size;
        node.mapped().bytes -= size;
        kept_.insert(std::move(node));
    }
    return memory;
}

void LargeBlocks::put(std::byte* memory, int64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    const int64_t size = whole_pages(bytes);
    in_use_ -= size;
    const auto next = kept_.upper_bound(memory);
    auto it = next == kept_.begin() ? kept_.end() : std::prev(next);
    if (it != kept_.end() && it->first + it->second.bytes == memory) {
        it->second = {it->second.bytes + size, ++frees_};
    } else {
        try {
            it = kept_.emplace_hint(next, memory, Region{size, ++frees_});
        } catch (const std::bad_alloc&) {
            munmap(memory, static_cast<std::size_t>(size));
            mapped_ -= size;
            return;
        }
    }
    if (next != kept_.end() && it->first + it->second.bytes == next->first) {
        it->second.bytes += next->second.bytes;
        kept_.erase(next);
    }
}

void LargeBlocks::unmap(int64_t bytes) {
    while (bytes > 0 && !kept_.empty()) {
        const auto oldest = std::ranges::min_element(kept_, {}, [](const auto& k) { return k.second.freed; });
        auto& [memory, region] = *oldest;
        const int64_t part = std::min(bytes, region.bytes);
        region.bytes -= part;
        munmap(memory + region.bytes, static_cast<std::size_t>(part));
        mapped_ -= part;
        bytes -= part;
        if (region.bytes == 0) kept_.erase(oldest);
    }
}

// small blocks ----------------------------------------------------------------------------------------------

SmallBlocks::~SmallBlocks() {
    give_up_kept();
}

std::byte* SmallBlocks::take(int64_t bytes) {
    const int64_t size = whole_lines(bytes);
    {
        const std::lock_guard lock(mutex_);
        const auto fits = kept_.find(size);
        if (fits != kept_.end() && !fits->second.empty()) {
            std::byte* const memory = fits->second.back();
            fits->second.pop_back();
            kept_bytes_ -= size;
            count(size);
            return memory;
        }
        if (in_use_ + size + kept_bytes_ > limit(std::max(most_in_use_, in_use_ + size))) give_up_kept();
    }
    std::byte* memory = new_block(size);
    const std::lock_guard lock(mutex_);
    if (memory == nullptr) {
        give_up_kept();
        memory = new_block(size);
    }
    if (memory != nullptr) count(size);
    return memory;
}

void SmallBlocks::put(std::byte* memory, int64_t bytes) noexcept {
    const int64_t size = whole_lines(bytes);
    const std::lock_guard lock(mutex_);
    in_use_ -= size;
    if (in_use_ + size + kept_bytes_ > limit(most_in_use_)) give_up_kept();
    try {
        kept_[size].push_back(memory);
        kept_bytes_ += size;
    } catch (const std::bad_alloc&) {
        delete_block(memory);
    }
}

void SmallBlocks::count(int64_t size) {
    in_use_ += size;
    most_in_use_ = std::max(most_in_use_, in_use_);
}

int64_t SmallBlocks::limit(int64_t most) {
    return most + most / 4 + kSpareSmall;
}

void SmallBlocks::give_up_kept() noexcept {
    for (auto& [size, blocks] : kept_) {
        for (std::byte* memory : blocks) delete_block(memory);
        blocks.clear();
    }
    kept_bytes_ = 0;
}

}  // namespace meshscope::tensor
