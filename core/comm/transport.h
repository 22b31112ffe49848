#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/base/ids.h"
#include "core/comm/abilities.h"
#include "core/comm/channel.h"
#include "core/comm/issued_call.h"
#include "core/tensor/device.h"

namespace meshscope::comm {

class DeviceFacts;

/// A message that a rank waits for: whose, and how many bytes it must have.
struct Expected {
    GlobalRank src;
    int64_t bytes = 0;
    /// Where the bytes are wanted; null: anywhere. Backends whose bytes have to be put somewhere put them
    /// there at once; others hand over their own.
    std::byte* place = nullptr;
};

/// Moves bytes between ranks. On a device with queues (queues_of; CUDA streams) the bytes of channels that
/// carry tensors are device memory, which only work enqueued on those queues may use. "Received" and "waited
/// for" are promises about that work then: what is enqueued after they return sees the data.
///
/// One object per rank, used by one thread at a time (give_up alone may be called by any).
///
/// post, wait and all that receive throw CommError when the world was aborted (secondary = true,
/// with the first cause: "comm.aborted"), when the peer has finished and can send or take no more
/// ("comm.peer_finished"), or when the sizes disagree ("comm.size_mismatch", on both sides). Backends that
/// can see it also throw "comm.deadlock" when no rank can go on.
class Transport {
  public:
    using Ticket = int64_t;
    using Bytes = std::span<const std::byte>;
    using Consume = std::function<void(Bytes)>;
    using ConsumeTogether = std::function<void(std::span<const Bytes>)>;

    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    GlobalRank rank() const { return rank_; }
    int32_t world_size() const { return world_size_; }
    /// What this transport can do beside moving messages.
    virtual Abilities abilities() { return {}; }

    /// Offers `data` to `dst` and returns at once. The bytes must stay as they are until wait(ticket)
    /// returns, or withdraw() does.
    virtual Ticket post(GlobalRank dst, Channel channel, Bytes data) = 0;

    /// Waits until the next message of each rank in `messages` (all different) is there on `channel`, with as
    /// many bytes as it says, and hands all to `consume`, once, so that a reduction can read them in one
    /// pass. A span is the message's place, filled; or bytes of the transport's own, which the caller copies
    /// there if it wants them there. Where ranks share memory it is the sender's own buffer: nothing is
    /// copied on the way. `consume` must not call the transport.
    virtual void receive_together(std::span<const Expected> messages, Channel channel,
                                  const ConsumeTogether& consume) = 0;
    /// Receives one message; where it is stored does not matter to the caller.
    void receive(GlobalRank src, Channel channel, int64_t bytes, const Consume& consume);
    /// Receives one message of to.size() bytes that is wanted at `to`.
    void receive_at(GlobalRank src, Channel channel, std::span<std::byte> to, const Consume& consume);

    /// Waits until the posted bytes may be changed again. A ticket is waited for once.
    virtual void wait(Ticket ticket) = 0;

    /// Whether wait(ticket) would return at once.
    virtual bool done(Ticket ticket) = 0;

    /// Takes back all that was posted and not yet received, and waits until nobody reads it. For a caller
    /// that is failing and whose buffers are about to go (Wire's destructor does it); the world cannot
    /// be used afterwards.
    virtual void withdraw() noexcept = 0;

    /// This rank fails now: aborts the world; the cause is what the rank's body is about to throw. For
    /// destructors that must stop a thread which may be blocked in this transport. May be called from any
    /// thread.
    virtual void give_up() noexcept = 0;

    /// Marks the call that this rank is in until end_call(), or until its end when the call fails: a hang is
    /// explained by it. Called by the thread that uses the transport.
    void begin_call(const IssuedCall& call) { note(CallMoment::begins, &call); }
    /// Marks that a send which has ended waits, until the next end_call(), to be received.
    void begin_receipt(const IssuedCall& call) { note(CallMoment::awaits_receipt, &call); }
    void end_call() { note(CallMoment::ends, nullptr); }

  protected:
    Transport(GlobalRank rank, int32_t world_size) : rank_(rank), world_size_(world_size) {}
    /// Takes note of the above; `call` is null where one ends. The default forgets it.
    virtual void note(CallMoment moment, const IssuedCall* call);
    friend class ForwardingTransport;  // tells the one it forwards to

  private:
    GlobalRank rank_;
    int32_t world_size_;
};

/// The device that this rank's tensors are to lie on: OnDevice's, or a CPU device of its own.
std::unique_ptr<tensor::Device> make_device(Transport& transport);
/// OnDevice's queues; null where the host reaches the tensors.
DeviceQueues* queues_of(Transport& transport);
/// FaultActs's; without them SIGKILL, and wait_for_ever().
[[noreturn]] void die(Transport& transport);
[[noreturn]] void stall(Transport& transport);
/// Waits for a message that nobody sends; throws once the world was aborted.
[[noreturn]] void wait_for_ever(Transport& transport);
/// CallRounds's; nothing where ranks share a process and who waits for whom is known.
void end_calls(Transport& transport, Channel first);

/// Some ranks that can reach each other. run() runs `body` once for each rank that lives here (all of them in
/// one process, or one in a process backend) and returns when all have ended. A rank that throws aborts the
/// world: the others stop in their next or present transport call, and run() rethrows the error that came
/// first in time.
class World {
  public:
    virtual ~World() = default;
    virtual int32_t size() const = 0;
    virtual void run(const std::function<void(Transport&)>& body) = 0;

    /// Whether all ranks live in this process. Otherwise run() runs only the rank of this
    /// process, and ranks share nothing but their transports.
    virtual bool whole() const { return true; }
    /// How many of the ranks stand on this machine: they share its cores.
    virtual int32_t ranks_on_this_machine() const { return size(); }
    /// The device that the ranks compute on; the world's own, null where it is the processor.
    virtual const DeviceFacts* device() const { return nullptr; }
};

}  // namespace meshscope::comm
