#pragma once

#include <cstdint>

namespace meshscope::backends::nccl {

// What the NCCL module asks of the CUDA runtime. The tests' module, which has no CUDA, brings one that does
// nothing (tests/nccl/fake_nccl/host_side.cpp). A device below 0 means none: then nothing is done, and
// streams are null.

/// NCCL takes the calling thread's current device when it makes a communicator: this makes it `device`, which
/// it stays (to set another one back would make a context there). Whether CUDA did.
bool make_current(int32_t device);

/// A stream of the highest priority, as PyTorch gives NCCL. False: CUDA refused.
bool stream_make(int32_t device, void** stream);
bool stream_free(int32_t device, void* stream);
/// Whether everything on it has ended.
bool stream_query(int32_t device, void* stream, bool& done);

}  // namespace meshscope::backends::nccl
