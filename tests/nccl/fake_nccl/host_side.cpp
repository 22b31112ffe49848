#include "backends/nccl/cuda_side.h"

// For a module without CUDA: there is no device to make current, and the stand-in needs no streams.
namespace meshscope::backends::nccl {

bool make_current(int32_t device) {
    return device < 0;
}

bool stream_make(int32_t device, void** stream) {
    *stream = nullptr;
    return device < 0;
}

bool stream_free(int32_t device, void*) {
    return device < 0;
}

bool stream_query(int32_t device, void*, bool& done) {
    done = true;
    return device < 0;
}

}  // namespace meshscope::backends::nccl
