#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/nccl/communicator.h"
#include "backends/nccl/library.h"
#include "backends/nccl/rank_device.h"
#include "core/comm/forwarding_transport.h"

namespace meshscope::backends::nccl {

class NcclSide;

/// A rank of a world whose groups run on NCCL. What must be agreed on the way (who is on which GPU, the
/// unique ids, that a rank failed) travels over the transport beneath, which is another backend's: TCP
/// between processes. Numbers never do.
///
/// Its native() sides run every op (NativeLibrary::runs_everything), because only NCCL can reach their
/// memory.
class NcclTransport final : public comm::ForwardingTransport,
                            public comm::NativeLibrary,
                            public comm::OnDevice {
  public:
    /// Makes the world's communicator; all ranks do. `inner`, `device` outlive it. `share_devices`: two ranks
    /// may be on one GPU (NCCL_MULTI_RANK_GPU_ENABLE=1 is set). Throws InvalidArgument "nccl.duplicate_gpu"
    /// {rank, other, device, version} on all ranks alike, and as Communicator.
    NcclTransport(comm::Transport& inner, const Library& library, RankDevice& device, Timeouts timeouts,
                  bool share_devices);
    ~NcclTransport() override;

    comm::Abilities abilities() override {
        comm::Abilities can = ForwardingTransport::abilities();
        can.library = this;
        can.device = this;
        return can;
    }
    bool runs_everything() const override { return true; }
    std::unique_ptr<tensor::Device> make_device() override { return device_.make_device(); }
    comm::DeviceQueues* queues() override { return device_.queues(); }
    /// One ncclCommSplit of the world for each run of disjoint groups in the list: one for each mesh dim, as
    /// PyTorch's split_group. All ranks call it alike.
    void announce_groups(std::span<const std::vector<GlobalRank>> groups) override;
    /// Of a group that was announced, or of all ranks; for another its members make a communicator of its own
    /// (ncclCommInitRankConfig), whose id the first of them sends to the others.
    std::unique_ptr<comm::NativeCollectives> native(std::span<const GlobalRank> ranks,
                                                    comm::Channel channel) override;
    /// Waits until all that was sent was received.
    void settle() override;

    /// Closes all communicators in order; all ranks do, after a body that ended well.
    void finish();

  private:
    friend class NcclSide;
    using Ranks = std::vector<GlobalRank>;

    /// Throws when the world was aborted, or a send failed.
    void interrupted();
    MeshscopeNcclId make_id(const Doing& doing) const;
    /// The same id on all `ranks`: the first makes it.
    MeshscopeNcclId shared_id(std::span<const GlobalRank> ranks, comm::Channel channel, const Doing& doing);
    void check_devices(bool share_devices);
    void split(const std::vector<const Ranks*>& layer);
    Doing doing(const char* op, const std::string& group) const { return {rank(), op, group}; }

    const Library library_;
    RankDevice& device_;
    const Timeouts timeouts_;
    std::byte* scratch_ = nullptr;
    Ticket alarm_ = -1;  ///< of a message to itself that is never taken: done() is true when the world ends
    bool alarm_set_ = false;
    std::vector<std::shared_ptr<Communicator>> communicators_;  ///< in the order of making; the world's first
    std::map<Ranks, std::shared_ptr<Communicator>> by_ranks_;
    std::vector<std::shared_ptr<NcclSide>> sides_;
};

}  // namespace meshscope::backends::nccl
