#include "backends/nccl/cuda_side.h"

#include <cuda_runtime_api.h>

namespace meshscope::backends::nccl {

bool make_current(int32_t device) {
    return device < 0 || cudaSetDevice(device) == cudaSuccess;
}

bool stream_make(int32_t device, void** stream) {
    *stream = nullptr;
    if (device < 0) return true;
    int least = 0, greatest = 0;
    cudaStream_t made = nullptr;
    if (!make_current(device) || cudaDeviceGetStreamPriorityRange(&least, &greatest) != cudaSuccess ||
        cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, greatest) != cudaSuccess)
        return false;
    *stream = made;
    return true;
}

bool stream_free(int32_t device, void* stream) {
    if (device < 0) return true;
    return make_current(device) && cudaStreamDestroy(static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

bool stream_query(int32_t device, void* stream, bool& done) {
    done = device < 0;
    if (device < 0) return true;
    if (!make_current(device)) return false;
    const cudaError_t said = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    done = said == cudaSuccess;
    return said == cudaSuccess || said == cudaErrorNotReady;
}

}  // namespace meshscope::backends::nccl
