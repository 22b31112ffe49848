#pragma once

#include <memory>

#include "backends/cuda/gpu.h"
#include "backends/nccl/library.h"
#include "backends/nccl/rank_device.h"

namespace meshscope::backends::nccl {

/// A device of a GPU module, with the rank's tensors and streams on it. Its identity is the device's place on
/// the PCI bus and the machine's name. Throws DeviceError "gpu.failed" {call, reason, code}.
std::unique_ptr<RankDevice> make_gpu_rank_device(const cuda::Gpu& gpu);

/// Throws InvalidArgument "nccl.other_memory" {file} where one of the two works on host memory and the other
/// on GPUs: neither could read the other's numbers.
void expect_same_memory(const Library& library, const MeshscopeGpu& gpu);

}  // namespace meshscope::backends::nccl
