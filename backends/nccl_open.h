#pragma once

#include <chrono>
#include <memory>

#include "backends/nccl/library.h"
#include "core/comm/transport.h"
#include "core/launch/placement.h"

namespace meshscope::backends {

/// Which NCCL the environment names.
nccl::Choice nccl_choice(const launch::Environment& environment);

/// Throws what this machine lacks for the backend "nccl": InvalidArgument "nccl.not_built",
/// "nccl.cannot_load", "nccl.other_version", "nccl.no_library", "gpu.not_built", "gpu.cannot_load",
/// "gpu.other_version", "nccl.other_memory", DeviceError "gpu.no_driver", "gpu.driver_too_old",
/// "gpu.no_device", "gpu.cannot_start".
void require_nccl(const launch::Environment& environment);

/// A world over NCCL whose ranks `inner` brings together; the one that lives here takes the GPU of its place
/// on this machine. `timeout`: the longest that one call may take, and making a communicator where that is
/// longer than usual; 0: NcclOptions' own. Throws as require_nccl.
std::unique_ptr<comm::World> open_nccl(const launch::Environment& environment,
                                       std::unique_ptr<comm::World> inner, std::chrono::milliseconds timeout);

}  // namespace meshscope::backends
