#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "backends/cuda/cuda_world.h"
#include "backends/cuda/load_gpu.h"
#include "backends/registry.h"
#include "core/base/find_module.h"

namespace meshscope::gpu {

/// The backends of this build, with the stand-in for a GPU in the place of the CUDA module; or the module
/// that MESHSCOPE_TEST_GPU_MODULE names, as tests/gpu/gpu_pair.h has it. `variable`: one more in their
/// environment.
inline std::unique_ptr<run::Backends> stand_in_registry(const std::string& variable = "",
                                                        const std::string& value = "") {
    const char* const named = std::getenv("MESHSCOPE_TEST_GPU_MODULE");
    const std::string module = named == nullptr ? find_module(backends::cuda::kStandInModule) : named;
    return backends::make_registry([=](const char* name) {
        if (!variable.empty() && name == variable) return value;
        return std::string_view(name) == backends::cuda::kModuleVariable ? module : std::string();
    });
}

}  // namespace meshscope::gpu
