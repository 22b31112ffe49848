#include "backends/cuda/load_gpu.h"

#include <dlfcn.h>

#include <array>

#include "core/base/error.h"
#include "core/base/find_module.h"

namespace meshscope::backends::cuda {

namespace {

std::string error_text(const MeshscopeGpu& gpu, int code) {
    std::array<char, 512> text{};
    gpu.error_text(code, text.data(), static_cast<int32_t>(text.size()));
    return text.data();
}

}  // namespace

const MeshscopeGpu& load_gpu_module(const std::string& path) {
    if (path.empty()) throw InvalidArgument({"gpu.not_built", {}});
    const auto fail = [&](const std::string& reason) {
        throw InvalidArgument({"gpu.cannot_load", {{"path", path}, {"reason", reason}}});
    };
    // Local: what the module links must not meet the program's own symbols. Never closed: threads of a driver
    // may still run in it. Opened again it is the same one.
    std::string failure;
    void* const handle = open_module(path, failure);
    if (handle == nullptr) fail(failure);
    using Entry = const MeshscopeGpu*();
    auto* const entry = reinterpret_cast<Entry*>(dlsym(handle, "meshscope_gpu_module"));
    if (entry == nullptr) fail(dlerror());
    const MeshscopeGpu* const gpu = entry();
    if (gpu->abi != MESHSCOPE_GPU_ABI)
        throw InvalidArgument(
            {"gpu.other_version",
             {{"path", path}, {"version", int64_t{gpu->abi}}, {"wanted", int64_t{MESHSCOPE_GPU_ABI}}}});
    return *gpu;
}

void expect_gpu(const MeshscopeGpu& gpu) {
    MeshscopeGpuMachine machine{};
    check(gpu, gpu.machine(&machine), "machine");
    const std::string wanted = cuda_version(machine.runtime_version);
    if (machine.code == MESHSCOPE_GPU_NO_DRIVER && machine.driver_version == 0)
        throw DeviceError({"gpu.no_driver", {{"wanted", wanted}}});
    if (machine.code == MESHSCOPE_GPU_NO_DRIVER)
        throw DeviceError(
            {"gpu.driver_too_old", {{"driver", cuda_version(machine.driver_version)}, {"wanted", wanted}}});
    if (machine.code == MESHSCOPE_GPU_NO_DEVICE || (machine.code == 0 && machine.devices == 0))
        throw DeviceError({"gpu.no_device", {}});
    if (machine.code != MESHSCOPE_GPU_OK)
        throw DeviceError(
            {"gpu.cannot_start", {{"reason", error_text(gpu, machine.code)}, {"code", machine.code}}});
}

void check(const MeshscopeGpu& gpu, int code, const char* call) {
    if (code == MESHSCOPE_GPU_OK) return;
    throw DeviceError(
        {"gpu.failed", {{"call", std::string(call)}, {"reason", error_text(gpu, code)}, {"code", code}}});
}

std::string cuda_version(int32_t version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace meshscope::backends::cuda
