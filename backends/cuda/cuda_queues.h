#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/gpu.h"
#include "backends/cuda/gpu_clock.h"
#include "core/comm/device_queues.h"

namespace meshscope::backends::cuda {

/// One rank's streams on a GPU: the one it computes on, and one for each comm Stream, as PyTorch's FSDP has
/// its all-gather, reduce-scatter and all-reduce streams. What the algorithms do with numbers are copies on
/// the device and the kernels of the module; marks are events, used again and again.
class CudaQueues final : public comm::DeviceQueues, private trace::DeviceClock {
  public:
    /// Throws DeviceError.
    explicit CudaQueues(const Gpu& gpu);

    /// The stream that the rank's device computes in; it must be there from the first call that is issued
    /// until the last drain().
    void compute_in(const GpuStream& stream);
    /// The queue of the collective that runs. Running thread.
    const GpuStream& running() const { return lane_->stream; }

    Mark issued() override;
    void wait(Mark mark) override;
    void begin(Stream stream, Mark issued, std::span<const std::byte> input,
               std::span<const std::byte> output) override;
    Mark end() override;
    void drain() noexcept override;
    /// The same of the collectives alone.
    void drain_collectives() noexcept;
    void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
    void reduce(ReduceOp op, DType dtype, std::byte* out, std::span<const std::byte* const> sources,
                int64_t n, bool average) override;
    void divide(DType dtype, std::byte* data, int64_t n, int32_t p) override;
    void premultiply(DType dtype, double factor, std::byte* out, const std::byte* in, int64_t n) override;
    std::byte* allocate(int64_t bytes) override;
    void free(std::byte* memory) noexcept override;
    void read(std::byte* to, const std::byte* from, int64_t bytes) override;
    void write(std::byte* to, const std::byte* from, int64_t bytes) override;
    trace::DeviceClock& clock() override { return *this; }

  private:
    /// A comm Stream's queue, and what its collectives use that may still be under way.
    struct Lane {
        explicit Lane(const Gpu& gpu) : stream(gpu, Urgent::yes), ended(gpu) {}
        GpuStream stream;
        GpuEvent ended;  ///< marks the end of its latest
        std::vector<std::span<const std::byte>> in_use;
    };

    int64_t stamp_computing() override { return clock_->stamp(*compute_); }
    int64_t stamp_running() override { return clock_->stamp(running()); }
    int64_t steady_ns(int64_t stamp) override { return clock_->steady_ns(stamp); }

    Lane& lane_of(Stream stream);
    Mark mark(const GpuStream& stream);
    void hold(const GpuStream& stream, Mark mark);
    void launch(int32_t kernel, DType dtype, const void* parameters, std::size_t parameter_bytes, int64_t n);
    void copy_host(void* to, const void* from, int64_t bytes, int32_t kind);

    Gpu gpu_;
    const GpuStream* compute_ = nullptr;        ///< null: nobody computes
    std::vector<std::unique_ptr<Lane>> lanes_;  ///< [Stream], made when they are first used
    Lane* lane_ = nullptr;                      ///< of the collective that runs
    std::optional<GpuClock> clock_;

    std::mutex mutex_;  // of the marks: two threads of one rank, for the time of a push
    std::vector<GpuEvent> marks_;
    std::vector<Mark> free_marks_;
};

}  // namespace meshscope::backends::cuda
