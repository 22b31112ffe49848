#include "tests/stand_in/blocks.h"

#include <cstddef>
#include <cstring>
#include <new>

#include "tests/stand_in/machine.h"

namespace meshscope::stand_in {
namespace {

constexpr std::align_val_t kAlignment{256};

}  // namespace

int64_t rounded(int64_t bytes) {
    constexpr auto kPiece = static_cast<int64_t>(kAlignment);
    return (bytes + kPiece - 1) / kPiece * kPiece;
}

int take(int32_t device, int64_t bytes, void** memory) {
    *memory = nullptr;
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes == 0) return MESHSCOPE_GPU_OK;
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    if (device >= 0 && bytes > m.room - m.used[static_cast<std::size_t>(device)])
        return MESHSCOPE_GPU_OUT_OF_MEMORY;
    void* const made = ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
    if (made == nullptr) return MESHSCOPE_GPU_OUT_OF_MEMORY;
    if (device >= 0) m.used[static_cast<std::size_t>(device)] += bytes;
    m.blocks[made] = {device, bytes};
    *memory = made;
    return MESHSCOPE_GPU_OK;
}

int give(void* memory, bool of_device) {
    if (memory == nullptr) return MESHSCOPE_GPU_OK;
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    const auto found = m.blocks.find(memory);
    if (found == m.blocks.end() || (found->second.device >= 0) != of_device)
        return MESHSCOPE_GPU_INVALID_VALUE;
    if (of_device) m.used[static_cast<std::size_t>(found->second.device)] -= found->second.bytes;
    // Whoever still reads it sees that: a device would by now have given it to somebody else.
    std::memset(memory, 0xAA, static_cast<std::size_t>(found->second.bytes));
    m.blocks.erase(found);
    ::operator delete(memory, kAlignment);
    return MESHSCOPE_GPU_OK;
}

bool on_device(const void* pointer, int64_t bytes) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    auto block = m.blocks.upper_bound(pointer);
    if (block == m.blocks.begin()) return false;
    --block;
    const auto begin = reinterpret_cast<uintptr_t>(block->first), at = reinterpret_cast<uintptr_t>(pointer);
    return block->second.device >= 0 &&
           at - begin + static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(block->second.bytes);
}

bool points_to_devices(const void* parameters, int32_t bytes) {
    constexpr uint64_t kFirst = uint64_t{0x5000} << 32, kLast = (uint64_t{0x8000} << 32) - 1;
    for (int32_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, static_cast<const std::byte*>(parameters) + at, sizeof word);
        if (word >= kFirst && word <= kLast && !on_device(reinterpret_cast<const void*>(word), 0))
            return false;
    }
    return true;
}

}  // namespace meshscope::stand_in
