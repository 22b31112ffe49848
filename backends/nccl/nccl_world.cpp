#include "backends/nccl/nccl_world.h"

#include <utility>

#include "backends/nccl/nccl_transport.h"

namespace meshscope::backends::nccl {

NcclWorld::NcclWorld(std::unique_ptr<comm::World> inner, Library library, DeviceOf device_of,
                     NcclOptions options)
    : inner_(std::move(inner)),
      library_(std::move(library)),
      device_of_(std::move(device_of)),
      options_(options) {}

void NcclWorld::run(const std::function<void(comm::Transport&)>& body) {
    inner_->run([&](comm::Transport& transport) {
        const std::unique_ptr<RankDevice> device = device_of_(transport.rank());
        NcclTransport rank(transport, library_, *device, options_.timeouts, options_.share_devices);
        body(rank);
        rank.finish();
    });
}

}  // namespace meshscope::backends::nccl
