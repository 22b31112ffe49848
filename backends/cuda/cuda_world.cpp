#include "backends/cuda/cuda_world.h"

#include "backends/cuda/cuda_transport.h"
#include "backends/cuda/gpu.h"
#include "backends/cuda/load_gpu.h"
#include "backends/threads/threads_world.h"

namespace meshscope::backends::cuda {

CudaWorld::CudaWorld(int32_t size, const std::string& module)
    : size_(size),
      gpu_(std::make_unique<const Gpu>(
          Gpu{&load_gpu_module(module.empty() ? find_gpu_module(kCudaModule) : module), 0})) {
    expect_gpu(*gpu_->table);
    static_cast<void>(threads::ThreadsWorld(size));  // refuses what it must
}

CudaWorld::~CudaWorld() = default;

void CudaWorld::run(const std::function<void(comm::Transport&)>& body) {
    threads::ThreadsWorld(size_).run([&](comm::Transport& transport) {
        CudaTransport on_device(transport, *gpu_);
        body(on_device);
    });
}

}  // namespace meshscope::backends::cuda
