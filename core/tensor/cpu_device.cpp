#include <unistd.h>

#include <cstring>
#include <optional>

#include "core/base/address_space.h"
#include "core/base/error.h"
#include "core/tensor/blas.h"
#include "core/tensor/device.h"
#include "core/tensor/kept_blocks.h"
#include "core/tensor/kernels_bfloat16.h"

namespace meshscope::tensor {
namespace {

[[noreturn]] void out_of_memory(int64_t bytes) {
    give_up_reserve();
    throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
}

/// The machine's memory. More than this is refused at once: the kernel would promise it and kill the program
/// later.
int64_t physical_bytes() {
    return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsFreed = false;  // they must see every block come and go
#else
constexpr bool kKeepsFreed = true;
#endif

class CpuDevice final : public Device {
  public:
    explicit CpuDevice(MatMul mat_mul) {
        if (mat_mul == MatMul::reference)
            work_ = std::make_unique<WithBfloat16<ReferenceKernels>>(*this);
        else
            work_ = std::make_unique<WithBfloat16<CpuKernels>>(*this);
        kernels_.emplace(*work_);
    }

    std::byte* allocate(int64_t bytes) override {
        if (bytes < 0 || bytes > physical_bytes_) out_of_memory(bytes);
        std::byte* memory = nullptr;
        if (!kKeepsFreed)
            memory = has_room(bytes) ? new_block(bytes) : nullptr;
        else if (bytes >= LargeBlocks::kLeastBytes)
            memory = large_.take(bytes);
        else
            memory = small_.take(bytes);
        if (memory == nullptr) out_of_memory(bytes);
        return memory;
    }
    void free(std::byte* memory, int64_t bytes) noexcept override {
        if (!kKeepsFreed)
            delete_block(memory);
        else if (bytes >= LargeBlocks::kLeastBytes)
            large_.put(memory, bytes);
        else
            small_.put(memory, bytes);
    }
    const Kernels& kernels() const override { return *kernels_; }

  private:
    LargeBlocks large_;
    SmallBlocks small_;
    std::unique_ptr<KernelWork> work_;
    std::optional<Kernels> kernels_;
    int64_t physical_bytes_ = physical_bytes();
};

}  // namespace

void Device::write(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void Device::read(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

std::unique_ptr<Device> make_cpu_device(MatMul mat_mul) {
    return std::make_unique<CpuDevice>(mat_mul);
}

std::string_view mat_mul_library() {
    return matrix_product_library();
}

void use_mat_mul_library(std::string_view word) {
    use_matrix_product_library(word);
}

}  // namespace meshscope::tensor
