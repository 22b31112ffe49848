#pragma once

#include <stdint.h>

// What tests can ask of the stand-in beyond the table of a GPU module: the symbol "meshscope_gpu_stand_in".

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    /// The n-th call from now on (1: the next) of the table's function of this name ("allocate") does nothing
    /// and returns `code` (stream_synchronize and event_synchronize still wait); n = 0: no call does. One
    /// wish at a time.
    void (*fail)(const char* call, int64_t nth, int32_t code);
    /// Calls of that function since the module was loaded.
    int64_t (*calls)(const char* call);
    /// How many are not given back: streams, events, device and page-locked memory, and bytes of device
    /// memory. Work that streams have not come to yet counts.
    void (*held)(int64_t* streams, int64_t* events, int64_t* blocks, int64_t* bytes);
    /// What machine() is to tell from now on (code, driver_version, devices; at most 8). As loaded: 0, 13000,
    /// 1.
    void (*machine)(int32_t code, int32_t driver_version, int32_t devices);
    /// How much memory each device has from now on; as loaded: 8 GiB.
    void (*room)(int64_t bytes);
    /// Each piece of work takes this much longer, so that what does not wait for it is seen to; as loaded: 0.
    void (*delay)(int64_t ns);
} MeshscopeGpuStandIn;

const MeshscopeGpuStandIn* meshscope_gpu_stand_in(void);

#ifdef __cplusplus
}
#endif
