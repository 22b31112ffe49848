// The table of gpu_module.h over the CUDA runtime: the program's only calls of CUDA.
#include <cuda_runtime.h>

#include <cstdio>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "backends/cuda/cuda_products.h"
#include "backends/cuda/gpu_module.h"
#include "backends/cuda/kernels/dispatch.h"

namespace meshscope::gpu {
namespace {

/// Makes a device the thread's current one. It stays so: every call sets its own, and to set the one before
/// back would make a context there (since CUDA 12 cudaSetDevice does), on GPU 0 for each rank of a machine.
class OnDevice {
  public:
    explicit OnDevice(int device) {
        int now = 0;
        code_ = cudaGetDevice(&now);
        if (code_ == cudaSuccess && now != device) code_ = cudaSetDevice(device);
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    cudaError_t code() const { return code_; }

  private:
    cudaError_t code_ = cudaSuccess;
};

/// The runtime keeps the last error for whoever asks next: it is taken away with the answer.
int answer(cudaError_t code) {
    if (code != cudaSuccess) cudaGetLastError();
    return static_cast<int>(code);
}

/// call() with `device` as the current one.
template <class F>
int on_device(int device, const F& call) {
    const OnDevice guard(device);
    return answer(guard.code() != cudaSuccess ? guard.code() : call());
}

struct Stream {
    int device;
    cudaStream_t stream;
};
struct Event {
    int device;
    cudaEvent_t event;
};

Stream& of(MeshscopeGpuStream handle) {
    return *reinterpret_cast<Stream*>(static_cast<uintptr_t>(handle.bits));
}
Event& of(MeshscopeGpuEvent handle) {
    return *reinterpret_cast<Event*>(static_cast<uintptr_t>(handle.bits));
}

void copy_text(const char* text, char* to, int32_t size) {
    std::snprintf(to, static_cast<size_t>(size), "%s", text);
}

void library(char* text, int32_t size) {
    std::snprintf(text, static_cast<size_t>(size), "CUDA %d.%d, %s", CUDART_VERSION / 1000,
                  CUDART_VERSION % 1000 / 10, product_library());
}

void error_text(int code, char* text, int32_t size) {
    if (code >= MESHSCOPE_GPU_CUBLAS)
        return copy_text(product_error(code - MESHSCOPE_GPU_CUBLAS), text, size);
    copy_text(cudaGetErrorString(static_cast<cudaError_t>(code)), text, size);
}

int machine(MeshscopeGpuMachine* machine) {
    *machine = {};
    machine->runtime_version = CUDART_VERSION;
    if (cudaDriverGetVersion(&machine->driver_version) != cudaSuccess) machine->driver_version = 0;
    int devices = 0;
    machine->code = answer(cudaGetDeviceCount(&devices));
    if (machine->code == MESHSCOPE_GPU_OK) machine->devices = devices;
    return MESHSCOPE_GPU_OK;
}

int info(int32_t device, MeshscopeGpuInfo* info) {
    *info = {};
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, device); code != cudaSuccess)
        return answer(code);
    copy_text(properties.name, info->name, sizeof info->name);
    if (const cudaError_t code = cudaDeviceGetPCIBusId(info->pci, sizeof info->pci, device);
        code != cudaSuccess)
        return answer(code);
    info->major = properties.major;
    info->minor = properties.minor;
    info->multiprocessors = properties.multiProcessorCount;
    info->warp = properties.warpSize;
    info->most_threads_a_block = properties.maxThreadsPerBlock;
    info->most_shared_bytes = static_cast<int32_t>(properties.sharedMemPerBlock);
    info->most_shared_bytes_asked = static_cast<int32_t>(properties.sharedMemPerBlockOptin);
    for (int i = 0; i < 3; ++i) info->most_grid[i] = properties.maxGridSize[i];
    info->total_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    info->l2_bytes = properties.l2CacheSize;
    // Not told by every driver: 0 then.
    const auto ask = [&](int32_t& value, cudaDeviceAttr attribute) {
        if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess) value = 0;
    };
    ask(info->clock_khz, cudaDevAttrClockRate);
    ask(info->memory_clock_khz, cudaDevAttrMemoryClockRate);
    ask(info->memory_bus_bits, cudaDevAttrGlobalMemoryBusWidth);
    cudaGetLastError();
    return MESHSCOPE_GPU_OK;
}

int memory(int32_t device, int64_t* free_bytes, int64_t* total_bytes) {
    return on_device(device, [&] {
        size_t unused = 0, all = 0;
        const cudaError_t code = cudaMemGetInfo(&unused, &all);
        *free_bytes = static_cast<int64_t>(unused);
        *total_bytes = static_cast<int64_t>(all);
        return code;
    });
}

int most_memory(int32_t device, int32_t anew, int64_t* in_use, int64_t* reserved) {
    return on_device(device, [&] {
        *in_use = *reserved = 0;
        cudaMemPool_t pool = nullptr;
        cudaError_t code = cudaDeviceGetDefaultMemPool(&pool, device);
        for (const auto& [attribute, out] : {std::pair{cudaMemPoolAttrUsedMemHigh, in_use},
                                             std::pair{cudaMemPoolAttrReservedMemHigh, reserved}}) {
            uint64_t bytes = 0;  // set to 0, a high-water mark begins at what is so now
            if (code == cudaSuccess && anew != 0) code = cudaMemPoolSetAttribute(pool, attribute, &bytes);
            if (code == cudaSuccess) code = cudaMemPoolGetAttribute(pool, attribute, &bytes);
            *out = static_cast<int64_t>(bytes);
        }
        return code;
    });
}

// streams and events -------------------------------------------------------------------------------------

/// The device's pool keeps what is freed, and never makes one stream wait for another to reuse memory: ranks
/// that share a GPU must not order each other unseen.
cudaError_t set_up_pool(int device) {
    static std::mutex mutex;
    static std::set<int> done;
    const std::lock_guard lock(mutex);
    if (done.count(device) != 0) return cudaSuccess;
    cudaMemPool_t pool = nullptr;
    cudaError_t code = cudaDeviceGetDefaultMemPool(&pool, device);
    uint64_t most = UINT64_MAX;
    int no = 0;
    if (code == cudaSuccess) code = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most);
    if (code == cudaSuccess)
        code = cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no);
    if (code == cudaSuccess) done.insert(device);
    return code;
}

int stream_make(int32_t device, int32_t urgent, MeshscopeGpuStream* stream) {
    return on_device(device, [&] {
        if (const cudaError_t code = set_up_pool(device); code != cudaSuccess) return code;
        int least = 0, greatest = 0;
        if (const cudaError_t code = cudaDeviceGetStreamPriorityRange(&least, &greatest); code != cudaSuccess)
            return code;
        auto* const made = new (std::nothrow) Stream{device, nullptr};
        if (made == nullptr) return cudaErrorMemoryAllocation;
        const cudaError_t code = cudaStreamCreateWithPriority(&made->stream, cudaStreamNonBlocking,
                                                              urgent != 0 ? greatest : least);
        if (code != cudaSuccess) {
            delete made;
            return code;
        }
        stream->bits = reinterpret_cast<uintptr_t>(made);
        return cudaSuccess;
    });
}

int stream_free(MeshscopeGpuStream stream) {
    if (stream.bits == 0) return MESHSCOPE_GPU_OK;
    Stream* const gone = &of(stream);
    const int code = on_device(gone->device, [&] { return cudaStreamDestroy(gone->stream); });
    delete gone;
    return code;
}

int stream_synchronize(MeshscopeGpuStream stream) {
    return on_device(of(stream).device, [&] { return cudaStreamSynchronize(of(stream).stream); });
}

/// cudaErrorNotReady is an answer here.
cudaError_t done_or_not(cudaError_t code, int32_t* done) {
    *done = code == cudaSuccess ? 1 : 0;
    if (code != cudaErrorNotReady) return code;
    cudaGetLastError();
    return cudaSuccess;
}

int stream_query(MeshscopeGpuStream stream, int32_t* done) {
    return on_device(of(stream).device,
                     [&] { return done_or_not(cudaStreamQuery(of(stream).stream), done); });
}

int stream_wait(MeshscopeGpuStream stream, MeshscopeGpuEvent event) {
    return on_device(of(stream).device,
                     [&] { return cudaStreamWaitEvent(of(stream).stream, of(event).event, 0); });
}

int stream_call(MeshscopeGpuStream stream, void (*function)(void*), void* argument) {
    return on_device(of(stream).device,
                     [&] { return cudaLaunchHostFunc(of(stream).stream, function, argument); });
}

int event_make(int32_t device, int32_t timed, MeshscopeGpuEvent* event) {
    return on_device(device, [&] {
        auto* const made = new (std::nothrow) Event{device, nullptr};
        if (made == nullptr) return cudaErrorMemoryAllocation;
        const cudaError_t code =
            cudaEventCreateWithFlags(&made->event, timed != 0 ? cudaEventDefault : cudaEventDisableTiming);
        if (code != cudaSuccess) {
            delete made;
            return code;
        }
        event->bits = reinterpret_cast<uintptr_t>(made);
        return cudaSuccess;
    });
}

int event_free(MeshscopeGpuEvent event) {
    if (event.bits == 0) return MESHSCOPE_GPU_OK;
    Event* const gone = &of(event);
    const int code = on_device(gone->device, [&] { return cudaEventDestroy(gone->event); });
    delete gone;
    return code;
}

int event_record(MeshscopeGpuEvent event, MeshscopeGpuStream stream) {
    return on_device(of(event).device, [&] { return cudaEventRecord(of(event).event, of(stream).stream); });
}

int event_query(MeshscopeGpuEvent event, int32_t* done) {
    return on_device(of(event).device, [&] { return done_or_not(cudaEventQuery(of(event).event), done); });
}

int event_synchronize(MeshscopeGpuEvent event) {
    return on_device(of(event).device, [&] { return cudaEventSynchronize(of(event).event); });
}

int event_elapsed(MeshscopeGpuEvent from, MeshscopeGpuEvent to, double* ns) {
    return on_device(of(from).device, [&] {
        float ms = 0.0F;
        const cudaError_t code = cudaEventElapsedTime(&ms, of(from).event, of(to).event);
        *ns = static_cast<double>(ms) * 1e6;
        return code;
    });
}

// memory -------------------------------------------------------------------------------------------------

int allocate(MeshscopeGpuStream stream, int64_t bytes, void** memory) {
    *memory = nullptr;
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes == 0) return MESHSCOPE_GPU_OK;
    return on_device(of(stream).device,
                     [&] { return cudaMallocAsync(memory, static_cast<size_t>(bytes), of(stream).stream); });
}

int free_later(MeshscopeGpuStream stream, void* memory) {
    if (memory == nullptr) return MESHSCOPE_GPU_OK;
    return on_device(of(stream).device, [&] { return cudaFreeAsync(memory, of(stream).stream); });
}

int host_allocate(int64_t bytes, void** memory) {
    *memory = nullptr;
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes == 0) return MESHSCOPE_GPU_OK;
    return answer(cudaHostAlloc(memory, static_cast<size_t>(bytes), cudaHostAllocPortable));
}

int host_free(void* memory) {
    return answer(cudaFreeHost(memory));
}

// work ---------------------------------------------------------------------------------------------------

int copy(MeshscopeGpuStream stream, void* to, const void* from, int64_t bytes, int32_t kind) {
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes == 0) return MESHSCOPE_GPU_OK;
    const cudaMemcpyKind way = kind == MESHSCOPE_HOST_TO_DEVICE   ? cudaMemcpyHostToDevice
                               : kind == MESHSCOPE_DEVICE_TO_HOST ? cudaMemcpyDeviceToHost
                                                                  : cudaMemcpyDeviceToDevice;
    return on_device(of(stream).device, [&] {
        return cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), way, of(stream).stream);
    });
}

int set(MeshscopeGpuStream stream, void* memory, int32_t byte, int64_t bytes) {
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes == 0) return MESHSCOPE_GPU_OK;
    return on_device(of(stream).device, [&] {
        return cudaMemsetAsync(memory, byte, static_cast<size_t>(bytes), of(stream).stream);
    });
}

int launch(MeshscopeGpuStream stream, const MeshscopeGpuLaunch* asked) {
    constexpr uint32_t kWithoutAsking = 48 << 10;
    const OnDevice guard(of(stream).device);
    if (guard.code() != cudaSuccess) return answer(guard.code());
    return dispatch(*asked, [&](auto kernel, auto parameters, Threads) {
        const auto* const function = reinterpret_cast<const void*>(kernel);
        if (asked->shared_bytes > kWithoutAsking) {
            const cudaError_t code = cudaFuncSetAttribute(
                function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(asked->shared_bytes));
            if (code != cudaSuccess) return answer(code);
        }
        void* arguments[] = {&parameters};
        const dim3 grid(asked->grid[0], asked->grid[1], asked->grid[2]);
        const dim3 block(asked->block[0], asked->block[1], asked->block[2]);
        return answer(
            cudaLaunchKernel(function, grid, block, arguments, asked->shared_bytes, of(stream).stream));
    });
}

int product(MeshscopeGpuStream stream, const MeshscopeGpuProduct* asked) {
    const OnDevice guard(of(stream).device);
    if (guard.code() != cudaSuccess) return answer(guard.code());
    return run_product(*asked, of(stream).device, of(stream).stream);
}

const MeshscopeGpu kModule{MESHSCOPE_GPU_ABI,
                           0,
                           library,
                           error_text,
                           machine,
                           info,
                           memory,
                           most_memory,
                           stream_make,
                           stream_free,
                           stream_synchronize,
                           stream_query,
                           stream_wait,
                           stream_call,
                           event_make,
                           event_free,
                           event_record,
                           event_query,
                           event_synchronize,
                           event_elapsed,
                           allocate,
                           free_later,
                           host_allocate,
                           host_free,
                           copy,
                           set,
                           launch,
                           product};

}  // namespace
}  // namespace meshscope::gpu

const MeshscopeGpu* meshscope_gpu_module(void) {
    return &meshscope::gpu::kModule;
}
