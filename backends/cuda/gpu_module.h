#pragma once

#include <stdint.h>

#include "backends/cuda/gpu_kernels.h"

// What a GPU module offers: plain C, so that the program includes and links nothing of CUDA, and one binary
// serves machines with and without it. There are two modules: meshscope-cuda.so, over the CUDA runtime and
// cuBLASLt, and meshscope-cuda-stand-in.so, over host memory and threads, which runs the same kernels' code
// (tests/stand_in). Everything above this table is ordinary C++.
//
// Every function returns 0 or an error code, for which error_text has words: the CUDA runtime's own number
// (cudaError_t), or MESHSCOPE_GPU_CUBLAS + cublasStatus_t. After an error nothing was enqueued, except that
// an asynchronous fault of earlier work may be reported by any later call (as the runtime does).
//
// Any thread may call anything, also at the same time; calls on one stream from several threads are ordered
// as they arrive. No call needs a current device: streams and events know theirs, and set it. Nothing here
// waits, except stream_synchronize, event_synchronize, host_allocate and close.

#ifdef __cplusplus
extern "C" {
#endif

enum { MESHSCOPE_GPU_ABI = 2 };

/// The codes the program acts on; all others are only told.
enum {
    MESHSCOPE_GPU_OK = 0,
    MESHSCOPE_GPU_INVALID_VALUE = 1,
    MESHSCOPE_GPU_OUT_OF_MEMORY = 2,
    MESHSCOPE_GPU_INVALID_CONFIGURATION = 9, /* a launch that no device takes */
    MESHSCOPE_GPU_NO_DRIVER = 35,            /* none, or older than the toolkit: see driver_version */
    MESHSCOPE_GPU_NO_DEVICE = 100,
    MESHSCOPE_GPU_NO_KERNEL_IMAGE = 209, /* not built for this device's architecture */
    MESHSCOPE_GPU_CUBLAS = 10000
};

/// Why a machine has GPUs or not. The versions as CUDA writes them: 13020 is 13.2; 0: there is none.
typedef struct {
    int32_t code;            /* 0, or why no device can be used: NO_DRIVER, NO_DEVICE, another */
    int32_t driver_version;  /* the newest CUDA that the driver serves; 0: no driver is installed */
    int32_t runtime_version; /* that the module was built with */
    int32_t devices;
} MeshscopeGpuMachine;

typedef struct {
    char name[256];
    char pci[32];         /* "0000:41:00.0": two ranks with the same one share a device */
    int32_t major, minor; /* compute capability */
    int32_t multiprocessors, warp;
    int32_t most_threads_a_block;
    int32_t most_shared_bytes;       /* a block, without asking */
    int32_t most_shared_bytes_asked; /* a block, by opting in; launch does so by itself */
    int32_t most_grid[3];
    int64_t total_bytes;
    int64_t l2_bytes;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits; /* 0: not told */
    int32_t shares_host_memory;                           /* 1: the stand-in */
} MeshscopeGpuInfo;

/// A stream or an event, as the module writes it down; 0: none.
typedef struct {
    uint64_t bits;
} MeshscopeGpuStream;
typedef struct {
    uint64_t bits;
} MeshscopeGpuEvent;

enum MeshscopeGpuCopy { MESHSCOPE_HOST_TO_DEVICE, MESHSCOPE_DEVICE_TO_HOST, MESHSCOPE_DEVICE_TO_DEVICE };

/// One kernel launch. `parameters` is the struct that gpu_kernels.h names for the kernel; it is copied before
/// launch returns.
typedef struct {
    int32_t kernel; /* MeshscopeGpuKernel */
    int32_t dtype;  /* MeshscopeGpuDType: of the operands that the kernel's comment leaves open */
    const void* parameters;
    int32_t parameter_bytes; /* sizeof of it: a wrong one is INVALID_VALUE */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
} MeshscopeGpuLaunch;

/// out (m, n) = A (m, k) · B (k, n) + bias (n), or out += A · B. All row-major and dense. `transpose_a`: A is
/// stored as (k, m); `transpose_b`: B is stored as (n, k). Sums in float32, whatever the dtype, in an order
/// that depends on the shapes and the device only; the result is rounded once.
typedef struct {
    int32_t dtype; /* float32 or bfloat16, of all operands */
    int32_t transpose_a, transpose_b;
    int32_t accumulate; /* 1: out += A · B; bias is null then */
    int32_t tf32;       /* 1: float32 factors may be cut to 10 bits (tensor cores) */
    int64_t m, n, k;    /* none is 0 */
    const void *a, *b;
    const void* bias; /* or null */
    void* out;
    void* workspace; /* device memory that nothing else on another stream uses; 256-byte aligned, or null */
    int64_t workspace_bytes;
} MeshscopeGpuProduct;

typedef struct {
    int32_t abi;
    int32_t is_stand_in; /* 1: no GPU, and nothing measured on it says anything of one */

    /// "CUDA 13.0, cuBLASLt 13.1.0" or "the stand-in for a GPU"; needs no start.
    void (*library)(char* text, int32_t size);
    void (*error_text)(int code, char* text, int32_t size);
    /// Looks at the machine; always 0. Cheap after the first call, which may take a second.
    int (*machine)(MeshscopeGpuMachine* machine);
    int (*info)(int32_t device, MeshscopeGpuInfo* info);
    /// What is free now, of all users of the device.
    int (*memory)(int32_t device, int64_t* free_bytes, int64_t* total_bytes);
    /// The most that this process's pool had given out by allocate at one time, and the most that it had
    /// taken from the device for that, both as the pool counts. `anew` 1: from what is so now on.
    int (*most_memory)(int32_t device, int32_t anew, int64_t* in_use, int64_t* reserved);

    /// A stream: work in it is done in its order; streams wait for each other by events only (there is no
    /// default stream here). `urgent` 1: of higher priority than compute, as communication should be.
    int (*stream_make)(int32_t device, int32_t urgent, MeshscopeGpuStream* stream);
    /// Lets its work end first, without waiting for it. Of 0: nothing.
    int (*stream_free)(MeshscopeGpuStream stream);
    /// Waits on the host until all its work is done.
    int (*stream_synchronize)(MeshscopeGpuStream stream);
    /// *done = 1: all its work is done.
    int (*stream_query)(MeshscopeGpuStream stream, int32_t* done);
    /// Later work of `stream` begins after what `event` marks; an event never recorded marks nothing.
    int (*stream_wait)(MeshscopeGpuStream stream, MeshscopeGpuEvent event);
    /// Calls `function` on some thread when the stream comes to it; it may not call the module.
    int (*stream_call)(MeshscopeGpuStream stream, void (*function)(void*), void* argument);

    /// `timed` 1: event_elapsed works with it (and it costs a little more).
    int (*event_make)(int32_t device, int32_t timed, MeshscopeGpuEvent* event);
    int (*event_free)(MeshscopeGpuEvent event);
    /// Marks the end of all work enqueued on `stream` so far. Again: the new mark replaces the old one, and
    /// who was told to wait for the old one still does.
    int (*event_record)(MeshscopeGpuEvent event, MeshscopeGpuStream stream);
    int (*event_query)(MeshscopeGpuEvent event, int32_t* done);
    int (*event_synchronize)(MeshscopeGpuEvent event);
    /// Both are timed, recorded and done. Resolution about 0.5 µs.
    int (*event_elapsed)(MeshscopeGpuEvent from, MeshscopeGpuEvent to, double* ns);

    /// Stream-ordered: the memory may be used by later work of `stream` (by others after an event), and a
    /// free takes effect when the stream comes to it. Aligned to 256 bytes; 0 bytes give null. Freed memory
    /// stays in the process's pool for the next request.
    int (*allocate)(MeshscopeGpuStream stream, int64_t bytes, void** memory);
    int (*free)(MeshscopeGpuStream stream, void* memory);
    /// Page-locked host memory: copies from and to it need no detour and do not hold the host.
    int (*host_allocate)(int64_t bytes, void** memory);
    int (*host_free)(void* memory);

    /// Ranges do not overlap. Host memory of a copy stays as it is until the stream is past it; if it is not
    /// from host_allocate, the call may take as long as the copy.
    int (*copy)(MeshscopeGpuStream stream, void* to, const void* from, int64_t bytes, int32_t kind);
    int (*set)(MeshscopeGpuStream stream, void* memory, int32_t byte, int64_t bytes);
    int (*launch)(MeshscopeGpuStream stream, const MeshscopeGpuLaunch* launch);
    int (*product)(MeshscopeGpuStream stream, const MeshscopeGpuProduct* product);
} MeshscopeGpu;

/// The one exported function of a module: "meshscope_gpu_module". The table lives as long as the module.
const MeshscopeGpu* meshscope_gpu_module(void);

#ifdef __cplusplus
}
#endif
