#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/cuda/cuda_world.h"
#include "backends/cuda/load_gpu.h"
#include "backends/registry.h"

namespace meshscope::gpu {

/// The backends of this build, with the stand-in for a GPU in the place of the CUDA module.
inline std::unique_ptr<run::Backends> stand_in_registry() {
    return backends::make_registry([](const char* name) {
        return std::string_view(name) == backends::cuda::kModuleVariable
                   ? backends::cuda::find_gpu_module(backends::cuda::kStandInModule)
                   : std::string();
    });
}

}  // namespace meshscope::gpu
