#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/gpu_module.h"

namespace meshscope::backends::cuda {

/// Whether matrix products of float32 may cut their factors to TF32 (torch.backends.cuda.matmul.allow_tf32).
enum class Tf32 : bool { no, yes };

/// A device of a module: what streams, events and memory are made on, and how it multiplies. A plain value;
/// the table outlives it.
struct Gpu {
    const MeshscopeGpu* table = nullptr;
    int32_t device = 0;
    Tf32 tf32 = Tf32::no;
};

enum class Urgent : bool { no, yes };
enum class Timed : bool { no, yes };

class GpuEvent;

/// A stream of its own, freed after its work. Move-only; what frees never throws. All functions throw
/// DeviceError "gpu.failed".
class GpuStream {
  public:
    explicit GpuStream(const Gpu& gpu, Urgent urgent = Urgent::no);
    ~GpuStream();
    GpuStream(GpuStream&& other) noexcept;
    GpuStream& operator=(GpuStream&& other) noexcept;

    const Gpu& gpu() const { return gpu_; }
    MeshscopeGpuStream handle() const { return handle_; }
    /// Later work begins after what the event marks.
    void wait(const GpuEvent& event) const;
    /// Waits on the host for all work.
    void synchronize() const;
    bool is_done() const;

  private:
    Gpu gpu_;
    MeshscopeGpuStream handle_{0};
};

/// A mark in a stream. Move-only.
class GpuEvent {
  public:
    explicit GpuEvent(const Gpu& gpu, Timed timed = Timed::no);
    ~GpuEvent();
    GpuEvent(GpuEvent&& other) noexcept;
    GpuEvent& operator=(GpuEvent&& other) noexcept;

    MeshscopeGpuEvent handle() const { return handle_; }
    /// Marks the end of what `stream` holds now.
    void record(const GpuStream& stream) const;
    void synchronize() const;
    bool is_done() const;
    /// Nanoseconds from `earlier` to this one; both timed and done.
    double elapsed_ns(const GpuEvent& earlier) const;

  private:
    Gpu gpu_;
    MeshscopeGpuEvent handle_{0};
};

/// Device memory that comes and goes in the order of a stream, which must outlive it. Move-only.
class GpuMemory {
  public:
    GpuMemory() = default;
    /// Throws DeviceError "device.out_of_memory" {bytes}, "gpu.failed".
    GpuMemory(const GpuStream& stream, int64_t bytes);
    ~GpuMemory();
    GpuMemory(GpuMemory&& other) noexcept;
    GpuMemory& operator=(GpuMemory&& other) noexcept;

    void* get() const { return memory_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(memory_);
    }
    int64_t bytes() const { return bytes_; }

  private:
    const GpuStream* stream_ = nullptr;
    void* memory_ = nullptr;
    int64_t bytes_ = 0;
};

/// Page-locked memory of the host. Move-only.
class HostMemory {
  public:
    HostMemory() = default;
    /// Throws DeviceError "device.out_of_memory" {bytes}, "gpu.failed".
    HostMemory(const Gpu& gpu, int64_t bytes);
    ~HostMemory();
    HostMemory(HostMemory&& other) noexcept;
    HostMemory& operator=(HostMemory&& other) noexcept;

    std::byte* get() const { return static_cast<std::byte*>(memory_); }
    int64_t bytes() const { return bytes_; }

  private:
    Gpu gpu_;
    void* memory_ = nullptr;
    int64_t bytes_ = 0;
};

}  // namespace meshscope::backends::cuda
