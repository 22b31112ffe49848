#pragma once

#include <cstdint>
#include <optional>

namespace meshscope::comm {

/// What a device's own allocator says of a run: of all ranks that share the device, together.
struct DeviceMemory {
    int64_t most_in_use = 0;    ///< bytes given out at one time, at most; each block rounded up to pieces
    int64_t most_reserved = 0;  ///< bytes taken from the device for that, at most
    int64_t own = 0;            ///< of those in use: the ranks' devices' own, which no tensor has
    int64_t piece = 0;          ///< what the allocator takes for a block of one byte
    friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

/// What a world whose ranks compute on a device knows of it (World::device).
class DeviceFacts {
  public:
    virtual ~DeviceFacts() = default;

    /// Whether there is no such device, but a stand-in for one on the host's memory: a record says so.
    virtual bool is_stand_in() const = 0;
    /// Of the latest run(), after it; nothing where it is not told. Throws DeviceError.
    virtual std::optional<DeviceMemory> memory() const = 0;
};

}  // namespace meshscope::comm
