#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/nccl/self_check.h"
#include "core/base/message.h"
#include "core/launch/placement.h"

namespace meshscope::backends {

/// A GPU of this machine.
struct GpuFacts {
    std::string name, pci, compute_capability;  ///< "9.0"
    int64_t memory_bytes = 0;
};

/// What this machine has of GPUs and of NCCL, for `doctor`: what is there, and of each the first thing that
/// is missing.
struct GpuState {
    std::string module;   ///< the file of the GPU module; "": not built
    std::string library;  ///< "CUDA 13.0, cuBLASLt 13.1.0"
    std::string driver;   ///< the newest CUDA that the driver serves; "": no driver
    std::string wanted;   ///< the CUDA that the module was built with
    bool stand_in = false;
    std::vector<GpuFacts> devices;
    std::optional<Message> missing;

    std::string nccl_module, nccl_file, nccl_version;
    bool nccl_stand_in = false;
    std::optional<Message> nccl_missing;
};

/// Looks; throws nothing. Cost: up to a second where there is a driver.
GpuState gpu_state(const launch::Environment& environment);

/// Runs each collective over NCCL on all GPUs of this machine, one rank each, as threads of this process, and
/// compares (nccl::check_collectives). `ranks` 0: as many as there are GPUs. Where the library is a stand-in
/// on host memory, so are the ranks, and `ranks` is 2 unless given. Throws what is missing, as opening the
/// backend "nccl" does, InvalidArgument "nccl.too_few_gpus" {gpus, ranks}, and what the ranks throw.
struct NcclCheck {
    int32_t ranks = 0;
    bool stand_in = false;
    std::vector<nccl::CheckedCollective> collectives;
};
NcclCheck check_nccl(const launch::Environment& environment, int32_t ranks);

}  // namespace meshscope::backends
