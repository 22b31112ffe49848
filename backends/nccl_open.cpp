#include "backends/nccl_open.h"

#include <algorithm>
#include <utility>

#include "backends/cuda/cuda_world.h"
#include "backends/cuda/load_gpu.h"
#include "backends/nccl/gpu_rank_device.h"
#include "backends/nccl/nccl_world.h"
#include "core/base/find_module.h"

namespace meshscope::backends {
namespace {

/// NCCL, and a module of GPUs that it can reach.
std::pair<nccl::Library, const MeshscopeGpu*> load_both(const launch::Environment& environment) {
    nccl::Library library = nccl::load(nccl_choice(environment));
    const std::string chosen = environment(cuda::kModuleVariable);
    const MeshscopeGpu& gpu = cuda::load_gpu_module(chosen.empty() ? find_module(cuda::kCudaModule) : chosen);
    cuda::expect_gpu(gpu);
    nccl::expect_same_memory(library, gpu);
    return {std::move(library), &gpu};
}

}  // namespace

nccl::Choice nccl_choice(const launch::Environment& environment) {
    return {environment(nccl::kModuleVariable), environment(nccl::kLibraryVariable)};
}

void require_nccl(const launch::Environment& environment) {
    load_both(environment);
}

std::unique_ptr<comm::World> open_nccl(const launch::Environment& environment,
                                       std::unique_ptr<comm::World> inner,
                                       std::chrono::milliseconds timeout) {
    auto [library, gpu] = load_both(environment);
    MeshscopeGpuMachine machine{};
    cuda::check(*gpu, gpu->machine(&machine), "machine");
    const int32_t device = launch::find_placement(environment).local_rank % machine.devices;
    nccl::NcclOptions options;
    if (timeout.count() > 0) {
        options.timeouts.operation = timeout;
        options.timeouts.connect = std::max(options.timeouts.connect, timeout);
    }
    options.share_devices = environment(nccl::kShareVariable) == "1";
    return std::make_unique<nccl::NcclWorld>(
        std::move(inner), std::move(library),
        [one = cuda::Gpu{gpu, device, cuda::tf32_of(environment(cuda::kTf32Variable))}](GlobalRank) {
            return nccl::make_gpu_rank_device(one);
        },
        options);
}

}  // namespace meshscope::backends
