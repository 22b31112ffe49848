#include "core/base/address_space.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <new>

#include "core/base/arenas.h"
#include "core/base/resource_limit.h"

namespace meshscope {
namespace {

/// Of /proc/self/statm, which counts pages: all that is mapped, and of that data and stack.
constexpr std::size_t kAll = 0, kData = 5;

constexpr std::size_t kReserve = std::size_t{8} << 20;
std::atomic<void*> g_reserve{nullptr};  // a new-handler can reach nothing else

}  // namespace

std::optional<AddressSpace> address_space_left() {
    const auto all = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
    if (!all && !data) return std::nullopt;
    std::array<int64_t, kData + 1> pages{};
    std::ifstream statm("/proc/self/statm");
    for (int64_t& count : pages) statm >> count;
    if (!statm) return std::nullopt;
    const int64_t page = sysconf(_SC_PAGESIZE);
    std::optional<AddressSpace> least;
    const auto look = [&](const std::optional<int64_t>& limit, std::size_t used, bool is_data) {
        if (!limit) return;
        const int64_t left = std::max<int64_t>(0, *limit - pages[used] * page);
        if (!least || left < least->left_bytes) least = AddressSpace{left, is_data};
    };
    look(all, kAll, false);
    look(data, kData, true);
    return least;
}

bool can_map(int64_t bytes) {
    const auto size = static_cast<std::size_t>(std::max<int64_t>(bytes, 1));
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    munmap(memory, size);
    return true;
}

bool is_mapping_limited() {
    if (limit_of(RLIMIT_AS) || limit_of(RLIMIT_DATA)) return true;
    int promises = 0;
    std::ifstream("/proc/sys/vm/overcommit_memory") >> promises;
    constexpr int kNoMoreThanThereIs = 2;
    return promises == kNoMoreThanThereIs;
}

int64_t thread_stack_bytes() {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    if (pthread_attr_init(&attributes) != 0) return 0;
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return static_cast<int64_t>(bytes);
}

void give_up_reserve() noexcept {
    if (void* const reserve = g_reserve.exchange(nullptr)) munmap(reserve, kReserve);
}

void spare_address_space() {
    if (!is_mapping_limited()) return;
    void* const reserve = mmap(nullptr, kReserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserve != MAP_FAILED) g_reserve = reserve;
    std::set_new_handler([] {
        give_up_reserve();
        throw std::bad_alloc();
    });
    const auto limit = limit_of(RLIMIT_AS);
    constexpr int64_t kArena = int64_t{1}
                               << 30;  // one is for so much: a sixteenth of it, twice as it is made
    constexpr int64_t kMostArenas = 64;
    if (limit && *limit < kMostArenas * kArena)
        keep_to_arenas(static_cast<int>(std::max<int64_t>(1, *limit / kArena)));
}

}  // namespace meshscope
