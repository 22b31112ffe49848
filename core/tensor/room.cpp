#include "core/tensor/room.h"

#include <new>

#include "core/base/address_space.h"

namespace meshscope::tensor {
namespace {

std::shared_mutex& mapping() {
    static std::shared_mutex mutex;
    return mutex;
}

}  // namespace

bool mapping_is_limited() {
    static const bool limited = is_mapping_limited();
    return limited;
}

HeldRoom::HeldRoom(int64_t bytes) {
    if (!mapping_is_limited()) return;
    lock_ = std::unique_lock(mapping());
    if (can_map(bytes)) return;
    give_up_reserve();
    throw std::bad_alloc();
}

std::shared_lock<std::shared_mutex> lock_for_mapping() {
    return mapping_is_limited() ? std::shared_lock(mapping()) : std::shared_lock<std::shared_mutex>();
}

}  // namespace meshscope::tensor
