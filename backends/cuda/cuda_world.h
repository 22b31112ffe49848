#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/comm/device_facts.h"
#include "core/comm/transport.h"

namespace meshscope::backends::cuda {

struct Gpu;
enum class Tf32 : bool;

/// Names another GPU module than the program's own, by its file: the stand-in for a GPU, with which
/// everything above the module can be tried on a machine without one. Read by whoever opens the backend,
/// never here.
inline constexpr const char* kModuleVariable = "MESHSCOPE_CUDA_MODULE";

/// "1": matrix products of float32 may cut their factors to TF32, as PyTorch's allow_tf32 has it. Read by
/// whoever opens the backend.
inline constexpr const char* kTf32Variable = "MESHSCOPE_TF32";
/// What its value means.
Tf32 tf32_of(const std::string& value);

/// Many ranks on one GPU: a thread and streams a rank, our own algorithms over copies on the device. All that
/// ThreadsWorld finds and tells, this tells too. Device 0; CUDA_VISIBLE_DEVICES says which one that is.
class CudaWorld final : public comm::World, public comm::DeviceFacts {
  public:
    /// `module`: the file of a GPU module; "": the program's own. Throws what load_gpu_module and expect_gpu
    /// throw, InvalidArgument "backend.world_size" below 1.
    CudaWorld(int32_t size, const std::string& module, Tf32 tf32);
    ~CudaWorld() override;
    int32_t size() const override { return size_; }
    void run(const std::function<void(comm::Transport&)>& body) override;
    const comm::DeviceFacts* device() const override { return this; }
    bool is_stand_in() const override;
    std::optional<comm::DeviceMemory> memory() const override;

  private:
    int32_t size_;
    std::unique_ptr<const Gpu> gpu_;
};

}  // namespace meshscope::backends::cuda
