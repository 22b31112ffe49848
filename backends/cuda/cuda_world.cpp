#include "backends/cuda/cuda_world.h"

#include <tuple>
#include <utility>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_transport.h"
#include "backends/cuda/gpu.h"
#include "backends/cuda/load_gpu.h"
#include "backends/threads/threads_world.h"
#include "core/base/find_module.h"

namespace meshscope::backends::cuda {

Tf32 tf32_of(const std::string& value) {
    return value == "1" ? Tf32::yes : Tf32::no;
}

CudaWorld::CudaWorld(int32_t size, const std::string& module, Tf32 tf32)
    : size_(size),
      gpu_(std::make_unique<const Gpu>(
          Gpu{&load_gpu_module(module.empty() ? find_module(kCudaModule) : module), 0, tf32})) {
    expect_gpu(*gpu_->table);
    static_cast<void>(threads::ThreadsWorld(size));  // refuses what it must
}

CudaWorld::~CudaWorld() = default;

namespace {

/// What the pool has given out at most, and has taken from the device for it; `anew`: from now on.
std::pair<int64_t, int64_t> most_memory(const Gpu& gpu, bool anew) {
    int64_t in_use = 0, reserved = 0;
    check(*gpu.table, gpu.table->most_memory(gpu.device, anew ? 1 : 0, &in_use, &reserved), "most_memory");
    return {in_use, reserved};
}

/// Asked of the pool itself, with a byte: no document says to what it rounds.
int64_t piece_of(const Gpu& gpu) {
    const GpuStream stream(gpu);
    const int64_t before = most_memory(gpu, true).first;
    const GpuMemory byte(stream, 1);
    return most_memory(gpu, false).first - before;
}

}  // namespace

bool CudaWorld::is_stand_in() const {
    return gpu_->table->is_stand_in != 0;
}

std::optional<comm::DeviceMemory> CudaWorld::memory() const {
    comm::DeviceMemory memory;
    std::tie(memory.most_in_use, memory.most_reserved) = most_memory(*gpu_, false);
    memory.own = size_ * CudaDevice::own_bytes();
    memory.piece = piece_of(*gpu_);
    return memory;
}

void CudaWorld::run(const std::function<void(comm::Transport&)>& body) {
    most_memory(*gpu_, true);
    threads::ThreadsWorld(size_).run([&](comm::Transport& transport) {
        CudaTransport on_device(transport, *gpu_);
        body(on_device);
    });
}

}  // namespace meshscope::backends::cuda
