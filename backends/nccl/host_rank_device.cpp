#include <cstring>
#include <utility>

#include "backends/nccl/rank_device.h"

namespace meshscope::backends::nccl {
namespace {

class HostRankDevice final : public RankDevice {
  public:
    explicit HostRankDevice(std::string identity) : identity_(std::move(identity)) {}

    int32_t ordinal() const override { return -1; }
    std::string identity() const override { return identity_; }
    std::unique_ptr<tensor::Device> make_device() override { return tensor::make_cpu_device(); }
    void settle() override {}  // the host's work is done when the call returns
    std::byte* allocate(int64_t bytes) override { return new std::byte[static_cast<std::size_t>(bytes)]; }
    void free(std::byte* memory) noexcept override { delete[] memory; }
    void copy(std::byte* to, const std::byte* from, int64_t bytes) override {
        if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    }
    void write(std::byte* to, const std::byte* from_host, int64_t bytes) override {
        copy(to, from_host, bytes);
    }
    void read(std::byte* to_host, const std::byte* from, int64_t bytes) override {
        copy(to_host, from, bytes);
    }

  private:
    std::string identity_;
};

}  // namespace

std::unique_ptr<RankDevice> make_host_rank_device(std::string identity) {
    return std::make_unique<HostRankDevice>(std::move(identity));
}

}  // namespace meshscope::backends::nccl
