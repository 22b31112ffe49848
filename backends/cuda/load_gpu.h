#pragma once

#include <string>
#include <string_view>

#include "backends/cuda/gpu_module.h"

namespace meshscope::backends::cuda {

/// The file names of the two modules, for find_module().
inline constexpr std::string_view kCudaModule = "meshscope-cuda.so";
inline constexpr std::string_view kStandInModule = "meshscope-cuda-stand-in.so";

/// Loads a module, once a process; it stays until the process ends. It needs no driver for that. Throws
/// InvalidArgument "gpu.not_built" (path is ""), "gpu.cannot_load" {path, reason}, "gpu.other_version" {path,
/// version, wanted}.
const MeshscopeGpu& load_gpu_module(const std::string& path);

/// Throws DeviceError unless a device can be used: "gpu.no_driver" {wanted}, "gpu.driver_too_old" {driver,
/// wanted}, "gpu.no_device", "gpu.cannot_start" {reason, code}.
void expect_gpu(const MeshscopeGpu& gpu);

/// Throws DeviceError "gpu.failed" {call, reason, code} unless code is 0.
void check(const MeshscopeGpu& gpu, int code, const char* call);

/// 13020 as "13.2".
std::string cuda_version(int32_t version);

}  // namespace meshscope::backends::cuda
