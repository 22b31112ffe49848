#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/kinds.h"
#include "core/trace/device_clock.h"

namespace meshscope::comm {

/// The queues of a device on which one rank's collectives do their work, as PyTorch's streams: one for each
/// Stream, beside the one that the rank computes on. What is asked for here is put on a queue and done later,
/// in the queue's order; queues wait for each other by marks only.
///
/// A collective is `issued` by the rank's thread, lies between begin() and end() on the running thread, which
/// puts it on its stream's queue, and is waited for by the rank's thread. Between begin() and end() the
/// transport and the functions below all use that queue. Errors are DeviceError.
class DeviceQueues {
  public:
    /// A place in a queue: all that was put there before. kNothing: nothing to wait for.
    using Mark = int64_t;
    static constexpr Mark kNothing = -1;

    virtual ~DeviceQueues() = default;

    /// Where the rank's own computing stands now: a collective that is issued now begins after it. Rank's
    /// thread.
    virtual Mark issued() = 0;
    /// What the rank computes from now on begins after `mark`, which is given up. Rank's thread; does not
    /// wait.
    virtual void wait(Mark mark) = 0;

    /// The running thread is about to put a collective of `stream` on its queue, after `issued` (given up).
    /// It begins after those of other streams, too, that use memory of its `input` or `output` and are not
    /// over: in the order of issue nobody need wait for the one before it (HSDP's all-reduce does not).
    virtual void begin(Stream stream, Mark issued, std::span<const std::byte> input,
                       std::span<const std::byte> output) = 0;
    /// Where the queue stands after it.
    virtual Mark end() = 0;

    /// Waits until nothing of this rank is under way, neither here nor where it computes. For a rank that
    /// ends or fails; by its thread, when nothing runs any more.
    virtual void drain() noexcept = 0;

    // Running thread, between begin() and end(). Pointers are to device memory, n elements of the dtype.

    /// Ranges do not overlap; 0 bytes are allowed, here and below.
    virtual void copy(std::byte* to, const std::byte* from, int64_t bytes) = 0;
    /// out = ((sources[0] ∘ sources[1]) ∘ …) as reduce_many in reduce.h, and divided by their number where
    /// `average`. out may be one of them.
    virtual void reduce(ReduceOp op, DType dtype, std::byte* out, std::span<const std::byte* const> sources,
                        int64_t n, bool average) = 0;
    /// data /= p, as finish_reduce for AVG.
    virtual void divide(DType dtype, std::byte* data, int64_t n, int32_t p) = 0;
    /// As premultiply in reduce.h.
    virtual void premultiply(DType dtype, double factor, std::byte* out, const std::byte* in, int64_t n) = 0;
    /// Memory for the queue's own use until free(), which takes effect in the queue's order. Never null for
    /// more than 0 bytes.
    virtual std::byte* allocate(int64_t bytes) = 0;
    virtual void free(std::byte* memory) noexcept = 0;
    /// To and from the host's memory; these wait until it is done.
    virtual void read(std::byte* to, const std::byte* from, int64_t bytes) = 0;
    virtual void write(std::byte* to, const std::byte* from, int64_t bytes) = 0;

    /// When what was put on the queues was done.
    virtual trace::DeviceClock& clock() = 0;
};

/// Calls `look(std::span<const std::byte>)` with bytes that the host can read: `data` itself where there are
/// no queues, else a copy.
template <class Look>
auto on_host(DeviceQueues* queues, const std::byte* data, int64_t bytes, Look&& look) {
    if (queues == nullptr || bytes == 0)
        return std::forward<Look>(look)(std::span(data, static_cast<std::size_t>(bytes)));
    std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
    queues->read(copy.data(), data, bytes);
    return std::forward<Look>(look)(std::span<const std::byte>(copy));
}

}  // namespace meshscope::comm
