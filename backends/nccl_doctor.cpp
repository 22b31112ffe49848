#include "backends/nccl_doctor.h"

#include <array>
#include <memory>

#include "backends/cuda/cuda_world.h"
#include "backends/cuda/load_gpu.h"
#include "backends/nccl/gpu_rank_device.h"
#include "backends/nccl/nccl_world.h"
#include "backends/nccl_open.h"
#include "backends/threads/threads_world.h"
#include "core/base/error.h"
#include "core/base/find_module.h"

namespace meshscope::backends {
namespace {

std::string gpu_module(const launch::Environment& environment) {
    const std::string chosen = environment(cuda::kModuleVariable);
    return chosen.empty() ? find_module(cuda::kCudaModule) : chosen;
}

void look_at_devices(const MeshscopeGpu& gpu, int32_t n, GpuState& state) {
    for (int32_t device = 0; device < n; ++device) {
        MeshscopeGpuInfo info{};
        cuda::check(gpu, gpu.info(device, &info), "info");
        state.devices.push_back({info.name, info.pci,
                                 std::to_string(info.major) + "." + std::to_string(info.minor),
                                 info.total_bytes});
    }
}

void look_at_gpus(const launch::Environment& environment, GpuState& state) {
    state.module = gpu_module(environment);
    const MeshscopeGpu& gpu = cuda::load_gpu_module(state.module);
    state.stand_in = gpu.is_stand_in != 0;
    std::array<char, 256> text{};
    gpu.library(text.data(), static_cast<int32_t>(text.size()));
    state.library = text.data();
    MeshscopeGpuMachine machine{};
    cuda::check(gpu, gpu.machine(&machine), "machine");
    if (machine.driver_version != 0) state.driver = cuda::cuda_version(machine.driver_version);
    state.wanted = cuda::cuda_version(machine.runtime_version);
    cuda::expect_gpu(gpu);
    look_at_devices(gpu, machine.devices, state);
}

void look_at_nccl(const launch::Environment& environment, GpuState& state) {
    const nccl::Choice choice = nccl_choice(environment);
    state.nccl_module = choice.module.empty() ? find_module(nccl::kModule) : choice.module;
    const nccl::Library library = nccl::load(choice);
    state.nccl_file = library.file;
    state.nccl_version = library.version_text();
    state.nccl_stand_in = library.on_host;
}

/// The first thing that is missing, as a message.
template <class Look>
std::optional<Message> missing_of(const Look& look) {
    try {
        look();
    } catch (const Error& error) {
        return error.message();
    }
    return std::nullopt;
}

}  // namespace

GpuState gpu_state(const launch::Environment& environment) {
    GpuState state;
    state.missing = missing_of([&] { look_at_gpus(environment, state); });
    state.nccl_missing = missing_of([&] { look_at_nccl(environment, state); });
    return state;
}

NcclCheck check_nccl(const launch::Environment& environment, int32_t ranks) {
    const nccl::Library library = nccl::load(nccl_choice(environment));
    NcclCheck check;
    check.stand_in = library.on_host;
    nccl::NcclWorld::DeviceOf device_of;
    if (library.on_host) {
        check.ranks = ranks > 0 ? ranks : 2;
        device_of = [](GlobalRank) { return nccl::make_host_rank_device(); };
    } else {
        const MeshscopeGpu& gpu = cuda::load_gpu_module(gpu_module(environment));
        cuda::expect_gpu(gpu);
        nccl::expect_same_memory(library, gpu);
        MeshscopeGpuMachine machine{};
        cuda::check(gpu, gpu.machine(&machine), "machine");
        check.ranks = ranks > 0 ? ranks : machine.devices;
        if (check.ranks > machine.devices)
            throw InvalidArgument(
                {"nccl.too_few_gpus", {{"gpus", int64_t{machine.devices}}, {"ranks", int64_t{check.ranks}}}});
        device_of = [&gpu](GlobalRank rank) { return nccl::make_gpu_rank_device({&gpu, rank.value}); };
    }
    nccl::NcclWorld world(std::make_unique<threads::ThreadsWorld>(check.ranks), library, device_of);
    check.collectives = nccl::check_collectives(world, device_of);
    return check;
}

}  // namespace meshscope::backends
