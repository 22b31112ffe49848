#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/base/ids.h"
#include "core/comm/call_info.h"
#include "core/comm/shared_table.h"
#include "core/tensor/device.h"

namespace meshscope::comm {

class DeviceFacts;
class DeviceQueues;
class NativeCollectives;

/// Keeps the messages of different groups apart: messages from one rank to another on one channel arrive in
/// the order they were posted; channels do not wait for each other. Values from 0 carry tensors. What travels
/// beside them has channels of its own: -1-c the calls' fingerprints (compare_calls.h), c + 2^30 the
/// checksums (checksum_transport.h) of channel c.
struct Channel {
    int32_t value = 0;
    friend auto operator<=>(const Channel&, const Channel&) = default;

    static constexpr int32_t kChecksums = 1 << 30;
    bool carries_tensors() const { return value >= 0 && value < kChecksums; }
    Channel of_fingerprints() const { return {-1 - value}; }
    Channel of_checksums() const { return {value + kChecksums}; }
    /// Whether it is below `first`, or belongs to one that is.
    bool is_before(Channel first) const {
        if (value < 0) return -1 - value < first.value;
        return (value >= kChecksums ? value - kChecksums : value) < first.value;
    }
};

/// A message that a rank waits for: whose, and how many bytes it must have.
struct Expected {
    GlobalRank src;
    int64_t bytes = 0;
};

/// Moves bytes between ranks. Where there are queues(), the bytes of channels that carry tensors lie on the
/// device: they may be used by what is put on the queues only, and "received", "waited for" mean that what is
/// put there from now on finds it so.
///
/// One object a rank, used by one thread at a time (give_up alone may be called by
/// any). Our algorithms are written once over this.
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
    virtual GlobalRank rank() const = 0;
    virtual int32_t world_size() const = 0;
    /// Whether a receiver reads the sender's own buffer. All members of a world say the same;
    /// choose_algorithm asks.
    virtual bool shares_memory() const { return false; }

    /// The device that this rank's tensors are to lie on; the default is a CPU device of its own. Outlived by
    /// the transport.
    virtual std::unique_ptr<tensor::Device> make_device();
    /// What collectives do their work with where tensors do not lie in the host's memory; the transport's
    /// own. Null: they do, and whoever receives bytes copies and adds them himself.
    virtual DeviceQueues* queues() { return nullptr; }

    /// Offers `data` to `dst` and returns at once. The bytes must stay as they are until wait(ticket)
    /// returns, or withdraw() does.
    virtual Ticket post(GlobalRank dst, Channel channel, Bytes data) = 0;

    /// Waits for the next message of `src` on `channel`, which must have `bytes` bytes, and hands it to
    /// `consume`, once, whole. Where ranks share memory the span is the sender's own buffer: nothing is
    /// copied on the way. `consume` must not call the transport.
    virtual void receive(GlobalRank src, Channel channel, int64_t bytes, const Consume& consume) = 0;

    /// As receive, for a caller that only wants the bytes at `to` (whose size is the message's): `consume` is
    /// handed either `to` itself, filled, or bytes that it must copy there. Backends whose bytes have to be
    /// put somewhere put them there at once; the default receives.
    virtual void receive_at(GlobalRank src, Channel channel, std::span<std::byte> to, const Consume& consume);

    /// Waits until every message of `messages` (each from another rank) is there, and hands all to `consume`
    /// at once, so that a reduction can read them in one pass. The default keeps copies of all but the last;
    /// backends that share memory copy nothing.
    virtual void receive_together(std::span<const Expected> messages, Channel channel,
                                  const ConsumeTogether& consume);

    /// Waits until the posted bytes may be changed again. A ticket is waited for once.
    virtual void wait(Ticket ticket) = 0;

    /// Whether wait(ticket) would return at once.
    virtual bool done(Ticket ticket) = 0;

    /// Takes back all that was posted and not yet received, and waits until nobody reads it. For a caller
    /// that is failing and whose buffers are about to go (Wire's destructor does it); the world is of no use
    /// afterwards.
    virtual void withdraw() noexcept = 0;

    /// The table at which the members of a group meet, when they can read and write each other's memory; null
    /// when not. `channel` and `ranks` (ascending, this rank among them) as for messages; all members must
    /// ask, and the table is the transport's.
    virtual SharedTable* table(Channel channel, std::span<const GlobalRank> ranks);

    /// Waits until every member came to all meetings that this rank left early (SharedTable::leave_early).
    virtual void settle_tables() {}

    /// This rank fails now: aborts the world; the cause is what the rank's body is about to throw. For
    /// destructors that must stop a thread which may be blocked in this transport. May be called from any
    /// thread.
    virtual void give_up() noexcept = 0;

    /// Says what this rank does from here to end_call(), or to its end when the call fails: for whoever must
    /// explain why the rank does not go on. By the thread that uses the transport. The default forgets it.
    virtual void begin_call(const CallInfo& call);
    virtual void end_call() noexcept {}
    /// The same of a send that has ended, to the next end_call(): what it sent is waited for to be received.
    virtual void begin_receipt(const CallInfo& call) { begin_call(call); }

    /// Says to the peers, behind all that it sent, that this rank has made its calls of a round (a step of
    /// training, say): until the next round nothing more comes of it but on channels that are not before
    /// `first`. Who still waits for it in a call of the round, for a message or for its being taken, is told
    /// so, as if its body had ended ("comm.peer_finished"). After the n-th end_calls a rank is in round n +
    /// 1; ranks may be in different ones. Cost: one short message to each peer. The default says nothing:
    /// where ranks share a process, who waits for whom is known.
    virtual void end_calls(Channel first);

    /// Whether nothing may run beside the rank's own thread, and StreamExecutor runs inline: where only one
    /// rank of a world runs at a time (a stepped world, see InterleavingScheduler), or where the backend was
    /// started for one thread.
    virtual bool one_thread_a_rank() const { return false; }

    /// Faults on demand (see faults.h). This rank ends as if it had been killed: on threads its body ends, a
    /// process is killed by SIGKILL, which is the default.
    [[noreturn]] virtual void die();
    /// This rank does nothing more, without ending; throws once the world was aborted. The default waits for
    /// a message that nobody sends.
    [[noreturn]] virtual void stall();

    /// This rank's side of the collectives that the backend's own library brings, among `ranks` (ascending,
    /// this rank among them; `channel` is the group's own); null where it brings none. All members must ask,
    /// each for its groups in the same order, before anything travels in them.
    virtual std::unique_ptr<NativeCollectives> native(std::span<const GlobalRank> ranks, Channel channel);
};

/// Some ranks that can reach each other. run() runs `body` once for each rank that lives here (all of them on
/// threads, one in a process backend) and returns when all have ended. A rank that throws aborts the world:
/// the others stop in their next or present transport call, and run() rethrows the error that came first in
/// time.
class World {
  public:
    virtual ~World() = default;
    virtual int32_t size() const = 0;
    virtual void run(const std::function<void(Transport&)>& body) = 0;

    /// Whether all ranks live in this process. Else run() runs the one that does, and ranks have nothing in
    /// common but their transports.
    virtual bool whole() const { return true; }
    /// How many of the ranks stand on this machine: they share its cores.
    virtual int32_t ranks_on_this_machine() const { return size(); }
    /// The device that the ranks compute on; the world's own, null where it is the processor.
    virtual const DeviceFacts* device() const { return nullptr; }
};

}  // namespace meshscope::comm
