#include "core/tensor/kept_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace meshscope::tensor {
namespace {

constexpr int64_t kLine = 64;
constexpr std::align_val_t kAlignment{kLine};
constexpr int64_t kSpare = int64_t{1} << 20;

int64_t whole_pages(int64_t bytes) {
    static const int64_t page = sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

int64_t whole_lines(int64_t bytes) {
    return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

std::byte* new_block(int64_t bytes) noexcept {
    return static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow));
}

void delete_block(std::byte* memory) noexcept {
    ::operator delete(memory, kAlignment);
}

// large blocks ----------------------------------------------------------------------------------------------

LargeBlocks::~LargeBlocks() {
    for (const Block& block : kept_) unmap(block);
}

std::byte* LargeBlocks::take(int64_t bytes) {
    const int64_t size = whole_pages(bytes);
    const std::lock_guard lock(mutex_);
    in_use_ += size;
    most_in_use_ = std::max(most_in_use_, in_use_);
    auto fits = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it)
        if (it->bytes >= size && it->bytes <= size + size / 4 &&
            (fits == kept_.end() || it->bytes <= fits->bytes))
            fits = it;
    if (fits != kept_.end()) {
        if (fits->bytes > size) longer_[fits->memory] = fits->bytes;
        std::byte* const memory = fits->memory;
        kept_.erase(fits);
        return memory;
    }
    const Block old = victim(most_in_use_ + most_in_use_ / 2 - size);
    const auto length = static_cast<std::size_t>(size);
    void* const memory =
        old.memory != nullptr
            ? mremap(old.memory, static_cast<std::size_t>(old.bytes), length, MREMAP_MAYMOVE)
            : mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        in_use_ -= size;
        if (old.memory != nullptr) kept_.push_front(old);
        return nullptr;
    }
    mapped_ += size - old.bytes;
    return static_cast<std::byte*>(memory);
}

void LargeBlocks::put(std::byte* memory, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const int64_t size = whole_pages(bytes);
    in_use_ -= size;
    const auto longer = longer_.find(memory);
    kept_.push_back({memory, longer == longer_.end() ? size : longer->second});
    if (longer != longer_.end()) longer_.erase(longer);
}

LargeBlocks::Block LargeBlocks::victim(int64_t bytes) {
    Block largest;
    while (mapped_ - largest.bytes > bytes && !kept_.empty()) {
        Block next = kept_.front();
        kept_.pop_front();
        if (next.bytes > largest.bytes) std::swap(next, largest);
        unmap(next);
    }
    return largest;
}

void LargeBlocks::unmap(const Block& block) {
    if (block.memory == nullptr) return;
    munmap(block.memory, static_cast<std::size_t>(block.bytes));
    mapped_ -= block.bytes;
}

// small blocks ----------------------------------------------------------------------------------------------

SmallBlocks::~SmallBlocks() {
    give_up_kept();
}

std::byte* SmallBlocks::take(int64_t bytes) {
    const int64_t size = whole_lines(bytes);
    {
        const std::lock_guard lock(mutex_);
        in_use_ += size;
        most_in_use_ = std::max(most_in_use_, in_use_);
        const auto fits = kept_.find(size);
        if (fits != kept_.end() && !fits->second.empty()) {
            std::byte* const memory = fits->second.back();
            fits->second.pop_back();
            kept_bytes_ -= size;
            return memory;
        }
        if (is_too_much(0)) give_up_kept();
    }
    std::byte* const memory = new_block(size);
    if (memory != nullptr) return memory;
    const std::lock_guard lock(mutex_);
    give_up_kept();
    std::byte* const at_last = new_block(size);
    if (at_last == nullptr) in_use_ -= size;
    return at_last;
}

void SmallBlocks::put(std::byte* memory, int64_t bytes) noexcept {
    const int64_t size = whole_lines(bytes);
    const std::lock_guard lock(mutex_);
    in_use_ -= size;
    if (is_too_much(size)) give_up_kept();
    try {
        kept_[size].push_back(memory);
        kept_bytes_ += size;
    } catch (const std::bad_alloc&) {
        delete_block(memory);
    }
}

bool SmallBlocks::is_too_much(int64_t more) const {
    return in_use_ + kept_bytes_ + more > most_in_use_ + most_in_use_ / 4 + kSpare;
}

void SmallBlocks::give_up_kept() noexcept {
    for (auto& [size, blocks] : kept_) {
        for (std::byte* memory : blocks) delete_block(memory);
        blocks.clear();
    }
    kept_bytes_ = 0;
}

}  // namespace meshscope::tensor
