#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/comm/channel.h"
#include "core/tensor/device.h"

namespace meshscope::comm {

class DeviceQueues;
class NativeCollectives;
class SharedTable;

/// Ranks that can read and write each other's memory.
class SharedTables {
  public:
    virtual ~SharedTables() = default;
    /// The table at which the members of a group meet; null where they exchange messages alone. `channel` and
    /// `ranks` (ascending, this rank among them) as for messages; all members must ask, and the table is the
    /// transport's.
    virtual SharedTable* table(Channel channel, std::span<const GlobalRank> ranks) = 0;
};

/// A backend's own library of collectives.
class NativeLibrary {
  public:
    virtual ~NativeLibrary() = default;
    /// This rank's side of its collectives among `ranks` (ascending, this rank among them; `channel` is the
    /// group's own). All members must ask, each for its groups in the same order, before anything travels in
    /// them.
    virtual std::unique_ptr<NativeCollectives> native(std::span<const GlobalRank> ranks, Channel channel) = 0;
    /// Whether only the library can reach the tensors' memory. Then every group uses it, and its sides also
    /// run send (which ends when its numbers were copied, as everywhere), recv, and the calls of a group of
    /// one.
    virtual bool runs_everything() const { return false; }
    /// All groups that the ranks of a run will make, in the one order that all ranks share, for a library
    /// that can make several in one call. All ranks say it, before they ask for any native().
    virtual void announce_groups(std::span<const std::vector<GlobalRank>>) {}
    /// Waits until all that it sent was received.
    virtual void settle() {}
};

/// Tensors that lie on a device of the rank's.
class OnDevice {
  public:
    virtual ~OnDevice() = default;
    /// The device; outlived by the transport.
    virtual std::unique_ptr<tensor::Device> make_device() = 0;
    /// What collectives do their work with; the transport's own. Null: the host reaches the tensors, and
    /// whoever receives bytes copies and adds them himself.
    virtual DeviceQueues* queues() = 0;
};

/// How this rank does what a fault asks for (faults.h).
class FaultActs {
  public:
    virtual ~FaultActs() = default;
    /// This rank ends as if it had been killed. The default: SIGKILL.
    [[noreturn]] virtual void die();
    /// It does nothing more, without ending; throws once the world was aborted.
    [[noreturn]] virtual void stall() = 0;
};

/// Ranks in separate processes, which learn of each other by messages alone.
class CallRounds {
  public:
    virtual ~CallRounds() = default;
    /// Says to the peers, behind all that it sent, that this rank has made its calls of a round (a step of
    /// training, say): until the next round it sends nothing on channels before `first`. A peer that still
    /// waits for it in a call of the round, for a message or for its own to be received, fails as if this
    /// rank had ended ("comm.peer_finished"). After the n-th end_calls a rank is in round n + 1; ranks may be
    /// in different ones. Cost: one short message to each peer.
    virtual void end_calls(Channel first) = 0;
};

/// What only some transports can do; null or false where one cannot.
struct Abilities {
    /// A receiver reads the sender's own buffer. All members of a world say the same; choose_algorithm asks.
    bool shares_memory = false;
    /// Nothing may run beside the rank's own thread, and StreamExecutor runs inline: only one rank of the
    /// world runs at a time (a stepped world, see InterleavingScheduler), or the backend was started for one
    /// thread.
    bool one_thread_a_rank = false;
    SharedTables* tables = nullptr;
    NativeLibrary* library = nullptr;
    OnDevice* device = nullptr;
    FaultActs* faults = nullptr;
    CallRounds* rounds = nullptr;
};

}  // namespace meshscope::comm
