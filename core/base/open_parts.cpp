#include "core/base/open_parts.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace meshscope {
namespace {

/// A handler can reach nothing that it would have to lock.
std::array<std::atomic<const char*>, 64> g_parts{};
static_assert(std::atomic<const char*>::is_always_lock_free);

}  // namespace

OpenPart::OpenPart(const char* path) noexcept : place_(-1) {
    for (std::size_t i = 0; i < g_parts.size() && place_ < 0; ++i) {
        const char* none = nullptr;
        if (g_parts[i].compare_exchange_strong(none, path)) place_ = static_cast<int>(i);
    }
}

OpenPart::~OpenPart() {
    if (place_ >= 0) g_parts[static_cast<std::size_t>(place_)] = nullptr;
}

void remove_open_parts() noexcept {
    for (const auto& part : g_parts)
        if (const char* path = part.load()) unlink(path);
}

}  // namespace meshscope
