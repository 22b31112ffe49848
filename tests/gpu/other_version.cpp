// A module of another build of the program, for GPUs and for NCCL: its tables begin with another number.
#include "backends/cuda/gpu_module.h"
#include "backends/nccl/nccl_module.h"

const MeshscopeGpu* meshscope_gpu_module(void) {
    static MeshscopeGpu table{};
    table.abi = MESHSCOPE_GPU_ABI + 1;
    return &table;
}

const MeshscopeNccl* meshscope_nccl_module(void) {
    static MeshscopeNccl table{};
    table.abi = MESHSCOPE_NCCL_ABI + 1;
    return &table;
}
