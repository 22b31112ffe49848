#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "backends/nccl/communicator.h"
#include "backends/nccl/nccl_transport.h"
#include "backends/nccl/send_queue.h"
#include "core/comm/native.h"

namespace meshscope::backends::nccl {

/// One rank's side of one group on NCCL. The transport keeps it until the world ends; groups hold a handle.
class NcclSide {
  public:
    NcclSide(NcclTransport& transport, std::vector<GlobalRank> ranks, comm::Channel channel,
             std::shared_ptr<Communicator> communicator);

    /// Every op. Returns when this rank's part is over; send, when its numbers were copied.
    void run(const comm::IssuedCall& call);
    /// Waits until all that was sent was received.
    void settle();
    /// Throws what made a send fail.
    void check() const;
    void begin_close();
    void close();

  private:
    struct Sends {
        MeshscopeNcclId id;  ///< is on its way to the receiver
        comm::Transport::Ticket ticket = -1;
        std::unique_ptr<SendQueue> queue;
    };

    void send(const comm::IssuedCall& call, const Doing& doing);
    void receive(const comm::IssuedCall& call, const Doing& doing);
    GlobalRank global(int32_t group_rank) const { return ranks_[static_cast<std::size_t>(group_rank)]; }

    NcclTransport& transport_;
    std::vector<GlobalRank> ranks_;
    int32_t me_;
    comm::Channel pairs_;
    std::shared_ptr<Communicator> communicator_;
    std::map<int32_t, Sends> sends_;  ///< by the receiver's group rank; addresses stay
    std::map<int32_t, std::unique_ptr<Communicator>> receives_;
};

}  // namespace meshscope::backends::nccl
