#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/ids.h"

namespace meshscope::comm {

/// Keeps the messages of different groups apart: messages from one rank to another on one channel arrive in the order
/// they were posted; channels do not wait for each other.
struct Channel {
    int32_t value = 0;
    friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// Moves bytes between ranks. One object a rank, used by one thread at a time. Our algorithms are written once over this.
///
/// All calls throw CommError when the world was aborted (secondary = true, with the first cause), when the peer has
/// finished and can send no more ("comm.peer_finished"), or when the sizes disagree ("comm.size_mismatch").
class Transport {
  public:
    using Ticket = int64_t;
    using Consume = std::function<void(std::span<const std::byte>)>;

    virtual ~Transport() = default;
    virtual GlobalRank rank() const = 0;
    virtual int32_t world_size() const = 0;

    /// Offers `data` to `dst` and returns at once. The bytes must stay as they are until wait(ticket) returns.
    virtual Ticket post(GlobalRank dst, Channel channel, std::span<const std::byte> data) = 0;

    /// Waits for the next message of `src` on `channel`, which must have `bytes` bytes, and hands it to `consume`, once,
    /// whole. Where ranks share memory the span is the sender's own buffer: nothing is copied on the way.
    virtual void receive(GlobalRank src, Channel channel, int64_t bytes, const Consume& consume) = 0;

    /// Waits until the posted bytes may be changed again.
    virtual void wait(Ticket ticket) = 0;
};

/// Some ranks that can reach each other. run() runs `body` once for each rank that lives here (all of them on threads,
/// one in a process backend) and returns when all have ended. A rank that throws aborts the world: the others stop in
/// their next or present transport call, and run() rethrows the error that came first in time.
class World {
  public:
    virtual ~World() = default;
    virtual int32_t size() const = 0;
    virtual void run(const std::function<void(Transport&)>& body) = 0;
};

}  // namespace meshscope::comm
