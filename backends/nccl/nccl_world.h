#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/nccl/communicator.h"
#include "backends/nccl/library.h"
#include "backends/nccl/rank_device.h"
#include "core/comm/device_facts.h"
#include "core/comm/transport.h"

namespace meshscope::backends::nccl {

struct NcclOptions {
    Timeouts timeouts;
    /// Whether NCCL_MULTI_RANK_GPU_ENABLE=1 is set, which lets NCCL from 2.30 put two ranks on one GPU.
    bool share_devices = false;
};

/// A world whose ranks reach each other over NCCL. The world beneath brings them together (TCP between
/// processes, threads in tests) and carries what must be agreed; see NcclTransport.
class NcclWorld final : public comm::World, public comm::DeviceFacts {
  public:
    /// The device of a rank that lives here.
    using DeviceOf = std::function<std::unique_ptr<RankDevice>(GlobalRank)>;

    NcclWorld(std::unique_ptr<comm::World> inner, Library library, DeviceOf device_of,
              NcclOptions options = {});

    int32_t size() const override { return inner_->size(); }
    bool whole() const override { return inner_->whole(); }
    int32_t ranks_on_this_machine() const override { return inner_->ranks_on_this_machine(); }
    /// Throws beyond what a World throws: as NcclTransport's making, and CommErrors of NCCL's failures (see
    /// throw_result).
    void run(const std::function<void(comm::Transport&)>& body) override;
    const comm::DeviceFacts* device() const override { return this; }
    bool is_stand_in() const override { return library_.on_host; }
    /// Not told: each rank has a device of its own, and this process sees one of them.
    std::optional<comm::DeviceMemory> memory() const override { return std::nullopt; }

  private:
    std::unique_ptr<comm::World> inner_;
    Library library_;
    DeviceOf device_of_;
    NcclOptions options_;
};

}  // namespace meshscope::backends::nccl
