#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/cuda/gpu_module.h"
#include "backends/nccl/rank_device.h"

namespace meshscope::backends::nccl {

/// A device of a GPU module. `settle` returns when the rank's own work there has been done; without it there
/// is none. Its identity is the machine's name and the device's place on the PCI bus. Throws DeviceError
/// "gpu.failed" {call, reason, code}.
std::unique_ptr<RankDevice> make_gpu_rank_device(const MeshscopeGpu& gpu, int32_t device,
                                                 std::function<void()> settle = {});

}  // namespace meshscope::backends::nccl
