#include "backends/nccl/gpu_rank_device.h"

#include <unistd.h>

#include <array>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_queues.h"
#include "backends/cuda/gpu.h"
#include "backends/cuda/load_gpu.h"
#include "core/base/error.h"

namespace meshscope::backends::nccl {
namespace {

class GpuRankDevice final : public RankDevice {
  public:
    explicit GpuRankDevice(const cuda::Gpu& gpu)
        : gpu_(gpu), queues_(gpu_), stream_(gpu_, cuda::Urgent::yes) {
        cuda::check(*gpu_.table, gpu_.table->info(gpu_.device, &info_), "info");
    }

    // The stand-in's memory is the host's, and CUDA knows nothing of it.
    int32_t ordinal() const override { return gpu_.table->is_stand_in != 0 ? -1 : gpu_.device; }
    std::string identity() const override {
        std::array<char, 256> host{};
        ::gethostname(host.data(), host.size() - 1);
        // The place first: behind a long machine name it could be cut off.
        return std::string(info_.pci) + " " + std::string(host.data());
    }
    std::unique_ptr<tensor::Device> make_device() override {
        auto device = std::make_unique<cuda::CudaDevice>(gpu_);
        queues_.compute_in(device->stream());
        computes_ = true;
        return device;
    }
    comm::DeviceQueues* queues() override { return &queues_; }
    /// The running collective's queue begins after what the rank had computed when it was issued.
    void settle() override {
        if (computes_) queues_.running().synchronize();
    }
    std::byte* allocate(int64_t bytes) override {
        void* memory = nullptr;
        cuda::check(*gpu_.table, gpu_.table->allocate(stream_.handle(), bytes, &memory), "allocate");
        stream_.synchronize();  // other streams may use it from here on
        return static_cast<std::byte*>(memory);
    }
    void free(std::byte* memory) noexcept override { gpu_.table->free(stream_.handle(), memory); }
    void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
        move(to, from, bytes, MESHSCOPE_DEVICE_TO_DEVICE);
    }
    void write(std::byte* to, const std::byte* from_host, int64_t bytes) override {
        move(to, from_host, bytes, MESHSCOPE_HOST_TO_DEVICE);
    }
    void read(std::byte* to_host, const std::byte* from, int64_t bytes) override {
        move(to_host, from, bytes, MESHSCOPE_DEVICE_TO_HOST);
    }

  private:
    void move(void* to, const void* from, int64_t bytes, int32_t kind) {
        if (bytes == 0) return;
        cuda::check(*gpu_.table, gpu_.table->copy(stream_.handle(), to, from, bytes, kind), "copy");
        stream_.synchronize();
    }

    cuda::Gpu gpu_;
    cuda::CudaQueues queues_;
    cuda::GpuStream stream_;  ///< for copies of NCCL's own
    MeshscopeGpuInfo info_{};
    bool computes_ = false;
};

}  // namespace

void expect_same_memory(const Library& library, const MeshscopeGpu& gpu) {
    if (library.on_host != (gpu.is_stand_in != 0))
        throw InvalidArgument({"nccl.other_memory", {{"file", library.file}}});
}

std::unique_ptr<RankDevice> make_gpu_rank_device(const cuda::Gpu& gpu) {
    return std::make_unique<GpuRankDevice>(gpu);
}

}  // namespace meshscope::backends::nccl
