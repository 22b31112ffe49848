// The stand-in for a GPU: the table of gpu_module.h over host memory and threads. It proves the program's
// logic and the kernels' code on a machine without a GPU; it says nothing of any GPU's speed or rounding.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/gpu_module.h"
#include "backends/cuda/kernels/dispatch.h"
#include "tests/stand_in/blocks.h"
#include "tests/stand_in/machine.h"
#include "tests/stand_in/product.h"
#include "tests/stand_in/queue.h"
#include "tests/stand_in/stand_in.h"

namespace meshscope::stand_in {
namespace {

constexpr int32_t kShared = 48 << 10,
                  kSharedAsked = 99 << 10;  // of compute capability 8.6, the least there is
constexpr int32_t kNotReady = 600, kIllegalAddress = 700;

struct Event {
    int32_t device = 0;
    bool timed = false;
    std::mutex mutex;
    std::shared_ptr<Mark> mark;  ///< null: never recorded
};

template <class T, class Handle>
T* of(Handle handle) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(handle.bits));
}

// what there is ------------------------------------------------------------------------------------------

void copy_text(const char* text, char* to, int32_t size) {
    std::snprintf(to, static_cast<std::size_t>(size), "%s", text);
}
void library(char* text, int32_t size) {
    copy_text("the stand-in for a GPU (no GPU: host memory and threads)", text, size);
}

void error_text(int code, char* text, int32_t size) {
    static const std::map<int, const char*> words{
        {0, "no error"},
        {1, "invalid argument"},
        {2, "out of memory"},
        {9, "invalid configuration argument"},
        {35, "CUDA driver version is insufficient for CUDA runtime version"},
        {100, "no CUDA-capable device is detected"},
        {101, "invalid device ordinal"},
        {209, "no kernel image is available for execution on the device"},
        {400, "invalid resource handle"},
        {600, "device not ready"},
        {700, "an illegal memory access was encountered"},
        {719, "unspecified launch failure"}};
    const auto found = words.find(code);
    copy_text(found == words.end() ? ("error " + std::to_string(code)).c_str() : found->second, text, size);
}

int machine(MeshscopeGpuMachine* told) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    *told = m.told;
    return MESHSCOPE_GPU_OK;
}

int info(int32_t device, MeshscopeGpuInfo* info) {
    MESHSCOPE_ENTER("info");
    if (!is_device(device)) return 101;
    *info = {};
    copy_text("stand-in", info->name, sizeof info->name);
    std::snprintf(info->pci, sizeof info->pci, "stand-in:%d", device);
    info->major = 8;
    info->minor = 6;
    info->multiprocessors = 1;
    info->warp = 32;
    info->most_threads_a_block = 1024;
    info->most_shared_bytes = kShared;
    info->most_shared_bytes_asked = kSharedAsked;
    info->most_grid[0] = 2147483647;
    info->most_grid[1] = info->most_grid[2] = 65535;
    info->total_bytes = g_machine().room;
    info->shares_host_memory = 1;
    return MESHSCOPE_GPU_OK;
}

int memory(int32_t device, int64_t* free_bytes, int64_t* total_bytes) {
    MESHSCOPE_ENTER("memory");
    if (!is_device(device)) return 101;
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    *total_bytes = m.room;
    *free_bytes = m.room - m.used[static_cast<std::size_t>(device)];
    return MESHSCOPE_GPU_OK;
}

int most_memory(int32_t device, int32_t anew, int64_t* in_use, int64_t* reserved) {
    MESHSCOPE_ENTER("most_memory");
    if (!is_device(device)) return 101;
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    if (anew != 0) of_device(m.most_asked, device) = of_device(m.asked, device);
    *in_use = *reserved = of_device(m.most_asked, device);
    return MESHSCOPE_GPU_OK;
}

// streams and events -------------------------------------------------------------------------------------

int stream_make(int32_t device, int32_t, MeshscopeGpuStream* stream) {
    MESHSCOPE_ENTER("stream_make");
    if (!is_device(device)) return 101;
    stream->bits = reinterpret_cast<uintptr_t>(new Queue(device));
    const std::lock_guard lock(g_machine().mutex);
    ++g_machine().streams;
    return MESHSCOPE_GPU_OK;
}

int stream_free(MeshscopeGpuStream stream) {
    MESHSCOPE_ENTER("stream_free");
    if (stream.bits == 0) return MESHSCOPE_GPU_OK;
    delete of<Queue>(stream);
    const std::lock_guard lock(g_machine().mutex);
    --g_machine().streams;
    return MESHSCOPE_GPU_OK;
}

int stream_synchronize(MeshscopeGpuStream stream) {
    // Where a wait fails on a GPU, nothing runs there any more: it waits all the same.
    const int32_t wished = enter("stream_synchronize");
    of<Queue>(stream)->wait_for_all();
    return wished;
}

int stream_query(MeshscopeGpuStream stream, int32_t* done) {
    MESHSCOPE_ENTER("stream_query");
    *done = of<Queue>(stream)->is_idle() ? 1 : 0;
    return MESHSCOPE_GPU_OK;
}

int stream_wait(MeshscopeGpuStream stream, MeshscopeGpuEvent event) {
    MESHSCOPE_ENTER("stream_wait");
    Event& e = *of<Event>(event);
    const std::lock_guard lock(e.mutex);
    if (e.mark != nullptr) of<Queue>(stream)->add([mark = e.mark] { mark->wait(); });
    return MESHSCOPE_GPU_OK;
}

int stream_call(MeshscopeGpuStream stream, void (*function)(void*), void* argument) {
    MESHSCOPE_ENTER("stream_call");
    of<Queue>(stream)->add([=] { function(argument); });
    return MESHSCOPE_GPU_OK;
}

int event_make(int32_t device, int32_t timed, MeshscopeGpuEvent* event) {
    MESHSCOPE_ENTER("event_make");
    if (!is_device(device)) return 101;
    auto* const made = new Event;
    made->device = device;
    made->timed = timed != 0;
    event->bits = reinterpret_cast<uintptr_t>(made);
    const std::lock_guard lock(g_machine().mutex);
    ++g_machine().events;
    return MESHSCOPE_GPU_OK;
}

int event_free(MeshscopeGpuEvent event) {
    MESHSCOPE_ENTER("event_free");
    if (event.bits == 0) return MESHSCOPE_GPU_OK;
    delete of<Event>(event);
    const std::lock_guard lock(g_machine().mutex);
    --g_machine().events;
    return MESHSCOPE_GPU_OK;
}

int event_record(MeshscopeGpuEvent event, MeshscopeGpuStream stream) {
    MESHSCOPE_ENTER("event_record");
    Event& e = *of<Event>(event);
    if (e.device != of<Queue>(stream)->device()) return 400;
    const std::lock_guard lock(e.mutex);
    e.mark = std::make_shared<Mark>();
    of<Queue>(stream)->add([mark = e.mark] { mark->reach(); });
    return MESHSCOPE_GPU_OK;
}

std::shared_ptr<Mark> mark_of(MeshscopeGpuEvent event) {
    Event& e = *of<Event>(event);
    const std::lock_guard lock(e.mutex);
    return e.mark;
}

int event_query(MeshscopeGpuEvent event, int32_t* done) {
    MESHSCOPE_ENTER("event_query");
    const auto mark = mark_of(event);
    *done = mark == nullptr || mark->is_reached() ? 1 : 0;
    return MESHSCOPE_GPU_OK;
}

int event_synchronize(MeshscopeGpuEvent event) {
    const int32_t wished = enter("event_synchronize");
    if (const auto mark = mark_of(event)) mark->wait();
    return wished;
}

int event_elapsed(MeshscopeGpuEvent from, MeshscopeGpuEvent to, double* ns) {
    MESHSCOPE_ENTER("event_elapsed");
    const auto first = mark_of(from), last = mark_of(to);
    if (!of<Event>(from)->timed || !of<Event>(to)->timed || first == nullptr || last == nullptr) return 400;
    if (!first->is_reached() || !last->is_reached()) return kNotReady;
    *ns = std::chrono::duration<double, std::nano>(last->at() - first->at()).count();
    return MESHSCOPE_GPU_OK;
}

// memory -------------------------------------------------------------------------------------------------

int allocate(MeshscopeGpuStream stream, int64_t bytes, void** memory) {
    MESHSCOPE_ENTER("allocate");
    const int32_t device = of<Queue>(stream)->device();
    const int code = take(device, bytes, memory);
    if (*memory == nullptr) return code;
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    int64_t& asked = of_device(m.asked, device);
    asked += rounded(bytes);
    of_device(m.most_asked, device) = std::max(of_device(m.most_asked, device), asked);
    return code;
}
int free_later(MeshscopeGpuStream stream, void* memory) {
    MESHSCOPE_ENTER("free");
    if (memory == nullptr) return MESHSCOPE_GPU_OK;
    {
        Machine& m = g_machine();
        const std::lock_guard lock(m.mutex);
        const auto block = m.blocks.find(memory);
        if (block != m.blocks.end() && block->second.device >= 0)
            of_device(m.asked, block->second.device) -= rounded(block->second.bytes);
    }
    of<Queue>(stream)->add([memory] { give(memory, true); });
    return MESHSCOPE_GPU_OK;
}
int host_allocate(int64_t bytes, void** memory) {
    MESHSCOPE_ENTER("host_allocate");
    return take(-1, bytes, memory);
}
int host_free(void* memory) {
    MESHSCOPE_ENTER("host_free");
    return give(memory, false);
}

// work ---------------------------------------------------------------------------------------------------

int copy(MeshscopeGpuStream stream, void* to, const void* from, int64_t bytes, int32_t kind) {
    MESHSCOPE_ENTER("copy");
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes > 0 && (on_device(to, bytes) != (kind != MESHSCOPE_DEVICE_TO_HOST) ||
                      on_device(from, bytes) != (kind != MESHSCOPE_HOST_TO_DEVICE)))
        return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes > 0) of<Queue>(stream)->add([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
    return MESHSCOPE_GPU_OK;
}

int set(MeshscopeGpuStream stream, void* memory, int32_t byte, int64_t bytes) {
    MESHSCOPE_ENTER("set");
    if (bytes < 0) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes > 0 && !on_device(memory, bytes)) return MESHSCOPE_GPU_INVALID_VALUE;
    if (bytes > 0)
        of<Queue>(stream)->add([=] { std::memset(memory, byte, static_cast<std::size_t>(bytes)); });
    return MESHSCOPE_GPU_OK;
}

bool fits_a_device(const MeshscopeGpuLaunch& l) {
    const uint64_t threads = uint64_t{l.block[0]} * l.block[1] * l.block[2];
    return threads >= 1 && threads <= 1024 && l.block[2] <= 64 && l.grid[0] >= 1 && l.grid[1] >= 1 &&
           l.grid[2] >= 1 && l.grid[0] <= 2147483647U && l.grid[1] <= 65535 && l.grid[2] <= 65535 &&
           l.shared_bytes <= static_cast<uint32_t>(kSharedAsked);
}

template <class P>
void run_thread(void (*kernel)(), const void* parameters) {
    reinterpret_cast<void (*)(P)>(kernel)(*static_cast<const P*>(parameters));
}

int launch(MeshscopeGpuStream stream, const MeshscopeGpuLaunch* asked) {
    MESHSCOPE_ENTER("launch");
    if (!fits_a_device(*asked)) return MESHSCOPE_GPU_INVALID_CONFIGURATION;
    if (!points_to_devices(asked->parameters, asked->parameter_bytes)) return kIllegalAddress;
    const simt::Index grid{asked->grid[0], asked->grid[1], asked->grid[2]};
    const simt::Index block{asked->block[0], asked->block[1], asked->block[2]};
    const uint32_t shared = asked->shared_bytes;
    const auto enqueue = [&]<class P>(void (*kernel)(P), const P& parameters, gpu::Threads threads) {
        of<Queue>(stream)->add([=] {
            simt::run_grid(grid, block, shared, threads == gpu::Threads::together, run_thread<P>,
                           reinterpret_cast<void (*)()>(kernel), &parameters);
        });
        return static_cast<int>(MESHSCOPE_GPU_OK);
    };
    return gpu::dispatch(*asked, enqueue);
}

int product(MeshscopeGpuStream stream, const MeshscopeGpuProduct* asked) {
    MESHSCOPE_ENTER("product");
    const bool known = asked->dtype == MESHSCOPE_FLOAT32 || asked->dtype == MESHSCOPE_BFLOAT16;
    if (!known || asked->m < 1 || asked->n < 1 || asked->k < 1 ||
        (asked->accumulate != 0 && asked->bias != nullptr))
        return MESHSCOPE_GPU_INVALID_VALUE;
    if (!points_to_devices(asked, sizeof *asked)) return kIllegalAddress;
    of<Queue>(stream)->add([p = *asked] { run_product(p); });
    return MESHSCOPE_GPU_OK;
}

const MeshscopeGpu kModule{MESHSCOPE_GPU_ABI,
                           1,
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

// what tests ask -----------------------------------------------------------------------------------------

void fail(const char* call, int64_t nth, int32_t code) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    m.fails = call;
    m.fails_in = nth;
    m.fails_with = code;
}
int64_t calls(const char* call) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    return m.calls[call];
}
void held(int64_t* streams, int64_t* events, int64_t* blocks, int64_t* bytes) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    *streams = m.streams;
    *events = m.events;
    *blocks = static_cast<int64_t>(m.blocks.size());
    *bytes = 0;
    for (const int64_t used : m.used) *bytes += used;
}
void tell_machine(int32_t code, int32_t driver_version, int32_t devices) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    m.told.code = code;
    m.told.driver_version = driver_version;
    m.told.devices = std::min(devices, kMostDevices);
}
void room(int64_t bytes) {
    Machine& m = g_machine();
    const std::lock_guard lock(m.mutex);
    m.room = bytes;
}

const MeshscopeGpuStandIn kStandIn{fail, calls, held, tell_machine, room, Queue::delay};

}  // namespace
}  // namespace meshscope::stand_in

const MeshscopeGpu* meshscope_gpu_module(void) {
    return &meshscope::stand_in::kModule;
}
const MeshscopeGpuStandIn* meshscope_gpu_stand_in(void) {
    return &meshscope::stand_in::kStandIn;
}
