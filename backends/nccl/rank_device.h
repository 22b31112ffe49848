#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/comm/device_queues.h"
#include "core/tensor/device.h"

namespace meshscope::backends::nccl {

/// What NCCL's side of a rank asks of the rank's device. Used by the rank's running thread; make_device
/// and free by its own.
class RankDevice {
  public:
    virtual ~RankDevice() = default;
    /// Its number for CUDA in this process; -1: none, the rank's memory is the host's.
    virtual int32_t ordinal() const = 0;
    /// The same text for two ranks exactly when they are on one device. Empty: never shared.
    virtual std::string identity() const = 0;
    /// The device that the rank's tensors are to lie on, outlived by this; and what its collectives are
    /// ordered by, null where the host does all in order.
    virtual std::unique_ptr<tensor::Device> make_device() = 0;
    virtual comm::DeviceQueues* queues() { return nullptr; }
    /// Returns when all that the collective which runs now must wait for has been done: what NCCL reads is
    /// there then.
    virtual void settle() = 0;
    /// Device memory that is NCCL's own, outside the rank's memory record (as a library's buffers are).
    /// Throws DeviceError.
    virtual std::byte* allocate(int64_t bytes) = 0;
    virtual void free(std::byte* memory) noexcept = 0;
    /// Copies on the device, after settle(); returns when it is done. Throws DeviceError.
    virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
    /// From and to the host's memory; return when it is done. Throw DeviceError.
    virtual void write(std::byte* to, const std::byte* from_host, int64_t bytes) = 0;
    virtual void read(std::byte* to_host, const std::byte* from, int64_t bytes) = 0;
};

/// Host memory: for a library that works there.
std::unique_ptr<RankDevice> make_host_rank_device(std::string identity = {});

}  // namespace meshscope::backends::nccl
