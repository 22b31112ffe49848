#include "core/tensor/dry_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/base/error.h"
#include "core/tensor/kernels.h"

namespace meshscope::tensor {
namespace {

constexpr std::align_val_t kAlignment{64};
/// Small ones come from the heap: a process may hold about 65,000 mappings.
constexpr int64_t kMapFrom = int64_t{64} << 10;

template <class... Arguments>
void no_work(const Arguments&...) {}
/// download()
void no_work(std::span<float> numbers, const Tensor&) {
    std::fill(numbers.begin(), numbers.end(), 0.0F);
}

/// Does nothing with what was checked. What a kernel would tell the host is 0.
class NoWork final : public KernelWork {
  public:
#define KERNEL(result, method, name, parameters, arguments, ...) \
    result method parameters const override {                    \
        no_work arguments;                                       \
        return result();                                         \
    }
#include "core/tensor/kernels.def"
};

class DryDevice final : public Device {
  public:
    std::byte* allocate(int64_t bytes) override {
        if (bytes < 0) refuse(bytes);
        const auto size = static_cast<std::size_t>(bytes);
        if (bytes < kMapFrom) {
            void* const memory = ::operator new(size, kAlignment, std::nothrow);
            if (memory == nullptr) refuse(bytes);
            std::memset(memory, 0, size);
            return static_cast<std::byte*>(memory);
        }
        void* const memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) refuse(bytes);
        return static_cast<std::byte*>(memory);
    }
    void free(std::byte* memory, int64_t bytes) noexcept override {
        if (bytes < kMapFrom) {
            ::operator delete(memory, kAlignment);
        } else {
            munmap(memory, static_cast<std::size_t>(bytes));
        }
    }
    const Kernels& kernels() const override { return kernels_; }

  private:
    [[noreturn]] static void refuse(int64_t bytes) {
        throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
    }
    NoWork work_;
    Kernels kernels_{work_};
};

}  // namespace

std::unique_ptr<Device> make_dry_device() {
    return std::make_unique<DryDevice>();
}

}  // namespace meshscope::tensor
