#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace meshscope::backends::tcp {

/// Uninitialised memory that is used again: a fresh 8 MiB from the system would cost more in page faults than
/// the message does on the wire.
class RoomPool {
  public:
    struct Room {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0;
    };
    /// Room for at least so many bytes, holding anything.
    Room take(std::size_t bytes);
    /// Keeps it for another; of too many the oldest goes.
    void give_back(Room room);

  private:
    static constexpr std::size_t kMostKept = 16;
    std::vector<Room> free_;
};

}  // namespace meshscope::backends::tcp
