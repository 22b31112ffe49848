#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/cuda_queues.h"
#include "core/comm/forwarding_transport.h"

namespace meshscope::backends::cuda {

/// Ranks that share one GPU, as threads of one process. Messages go the threads' way (ThreadTransport): so
/// does the knowledge of who waits for whom, who failed and who can never go on. What differs is what a
/// message of a tensor is: not bytes but a parcel, where on the device they lie, with two events. The
/// receiver's queue begins to read after the first, which marks that the sender's queue has written them; the
/// second marks that they were read, and the sender's queue changes them after it. The host waits for
/// nothing and touches no byte.
class CudaTransport final : public comm::ForwardingTransport, public comm::OnDevice {
  public:
    /// `inner` is the rank's ThreadTransport. Both outlive this. Throws DeviceError.
    CudaTransport(comm::Transport& inner, const Gpu& gpu);
    /// Nothing of this rank's is under way afterwards.
    ~CudaTransport() override;

    comm::Abilities abilities() override {
        comm::Abilities can = ForwardingTransport::abilities();
        can.shares_memory = true;
        can.device = this;
        return can;
    }
    std::unique_ptr<tensor::Device> make_device() override;
    comm::DeviceQueues* queues() override { return &queues_; }
    Ticket post(GlobalRank dst, comm::Channel channel, Bytes data) override;
    void receive_together(std::span<const comm::Expected> messages, comm::Channel channel,
                          const ConsumeTogether& consume) override;
    void wait(Ticket ticket) override;
    bool done(Ticket ticket) override;
    void withdraw() noexcept override;

  private:
    /// A message under way. A message of the host's has no events.
    struct Parcel {
        const std::byte* data = nullptr;
        std::optional<GpuEvent> written;
        std::optional<GpuEvent> read;
        Ticket ticket = 0;  ///< of the inner transport
        bool tensor = false;
    };
    static const Parcel& parcel_of(Bytes message) { return *reinterpret_cast<const Parcel*>(message.data()); }

    Gpu gpu_;
    CudaQueues queues_;
    std::deque<Parcel> parcels_;  // others look at them: they must not move
    std::vector<std::size_t> free_;
};

}  // namespace meshscope::backends::cuda
