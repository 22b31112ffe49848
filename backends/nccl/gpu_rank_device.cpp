#include "backends/nccl/gpu_rank_device.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "backends/cuda/load_gpu.h"

namespace meshscope::backends::nccl {
namespace {

class GpuRankDevice final : public RankDevice {
  public:
    GpuRankDevice(const MeshscopeGpu& gpu, int32_t device, std::function<void()> settle)
        : gpu_(gpu), device_(device), settle_(std::move(settle)) {
        cuda::check(gpu_, gpu_.info(device_, &info_), "info");
        cuda::check(gpu_, gpu_.stream_make(device_, 1, &stream_), "stream_make");
    }
    ~GpuRankDevice() override { gpu_.stream_free(stream_); }

    // The stand-in's memory is the host's, and CUDA knows nothing of it.
    int32_t ordinal() const override { return gpu_.is_stand_in != 0 ? -1 : device_; }
    std::string identity() const override {
        std::array<char, 256> host{};
        ::gethostname(host.data(), host.size() - 1);
        // Behind a long machine name the place must not be cut off.
        return std::string(info_.pci) + " " + std::string(host.data());
    }
    void settle() override {
        if (settle_) settle_();
    }
    std::byte* allocate(int64_t bytes) override {
        void* memory = nullptr;
        cuda::check(gpu_, gpu_.allocate(stream_, bytes, &memory), "allocate");
        synchronize();  // other streams may use it from here on
        return static_cast<std::byte*>(memory);
    }
    void free(std::byte* memory) noexcept override { gpu_.free(stream_, memory); }
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
        cuda::check(gpu_, gpu_.copy(stream_, to, from, bytes, kind), "copy");
        synchronize();
    }
    void synchronize() { cuda::check(gpu_, gpu_.stream_synchronize(stream_), "stream_synchronize"); }

    const MeshscopeGpu& gpu_;
    int32_t device_;
    std::function<void()> settle_;
    MeshscopeGpuInfo info_{};
    MeshscopeGpuStream stream_{0};
};

}  // namespace

std::unique_ptr<RankDevice> make_gpu_rank_device(const MeshscopeGpu& gpu, int32_t device,
                                                 std::function<void()> settle) {
    return std::make_unique<GpuRankDevice>(gpu, device, std::move(settle));
}

}  // namespace meshscope::backends::nccl
