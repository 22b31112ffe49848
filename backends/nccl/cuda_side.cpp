#include "backends/nccl/cuda_side.h"

#include <cuda_runtime_api.h>

namespace meshscope::backends::nccl {

DeviceGuard::DeviceGuard(int32_t device) {
    if (device < 0) return;
    int before = -1;
    good_ = cudaGetDevice(&before) == cudaSuccess && cudaSetDevice(device) == cudaSuccess;
    if (good_) before_ = before;
}

DeviceGuard::~DeviceGuard() {
    if (before_ >= 0) cudaSetDevice(before_);
}

bool stream_make(int32_t device, void** stream) {
    *stream = nullptr;
    if (device < 0) return true;
    const DeviceGuard guard(device);
    int least = 0, greatest = 0;
    cudaStream_t made = nullptr;
    if (!guard.good() || cudaDeviceGetStreamPriorityRange(&least, &greatest) != cudaSuccess ||
        cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, greatest) != cudaSuccess)
        return false;
    *stream = made;
    return true;
}

bool stream_free(int32_t device, void* stream) {
    if (device < 0) return true;
    const DeviceGuard guard(device);
    return guard.good() && cudaStreamDestroy(static_cast<cudaStream_t>(stream)) == cudaSuccess;
}

bool stream_query(int32_t device, void* stream, bool& done) {
    done = device < 0;
    if (device < 0) return true;
    const DeviceGuard guard(device);
    const cudaError_t said = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    done = said == cudaSuccess;
    return guard.good() && (said == cudaSuccess || said == cudaErrorNotReady);
}

}  // namespace meshscope::backends::nccl
