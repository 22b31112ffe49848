#include "backends/tcp/room_pool.h"

#include <algorithm>
#include <utility>

namespace meshscope::backends::tcp {

RoomPool::Room RoomPool::take(std::size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
        if (it->capacity >= bytes && (best == free_.end() || it->capacity < best->capacity)) best = it;
    if (best != free_.end()) {
        Room room = std::move(*best);
        free_.erase(best);
        return room;
    }
    const std::size_t capacity = std::max<std::size_t>(bytes, 1024);
    return {std::make_unique_for_overwrite<std::byte[]>(capacity), capacity};
}

void RoomPool::give_back(Room room) {
    if (room.capacity == 0) return;
    free_.push_back(std::move(room));
    if (free_.size() > kMostKept) free_.erase(free_.begin());
}

}  // namespace meshscope::backends::tcp
