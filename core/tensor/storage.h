#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory_sink.h"
#include "core/tensor/device.h"

namespace meshscope::tensor {

/// One allocation on a device, shared by the tensors that look at it. Reports itself to the rank's sink when
/// it is made and when the last tensor that looks at it is gone. An allocation of 0 bytes takes no memory and
/// is not reported.
class Storage {
  public:
    /// Allocates before it reports, so a failed allocation leaves no trace, and one that cannot be reported
    /// no memory.
    Storage(Device& device, MemorySink* sink, uint64_t id, int64_t bytes, MemoryCategory category,
            std::string_view label)
        : device_(&device), sink_(sink), id_(id), bytes_(bytes), on_host_(device.on_host()) {
        if (bytes_ == 0) return;
        memory_ = device_->allocate(bytes_);
        if (sink_ == nullptr) return;
        try {
            sink_->on_allocate(id_, bytes_, category, label);
        } catch (...) {  // no room to note it: no destructor comes
            device_->free(memory_, bytes_);
            throw;
        }
    }
    ~Storage() {
        if (memory_ == nullptr) return;
        device_->free(memory_, bytes_);
        if (sink_ != nullptr) sink_->on_free(id_);
    }
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    std::byte* memory() const { return memory_; }
    Device& device() const { return *device_; }
    bool on_host() const { return on_host_; }

  private:
    Device* device_;
    MemorySink* sink_;
    uint64_t id_;
    int64_t bytes_;
    bool on_host_;
    std::byte* memory_ = nullptr;
};

}  // namespace meshscope::tensor
