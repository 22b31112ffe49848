#include "core/tensor/dry_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/dry_blocks.h"
#include "core/tensor/kernels.h"

namespace meshscope::tensor {
namespace {

constexpr std::align_val_t kAlignment{64};
/// Small ones come from the heap: a process may hold about 65,000 mappings.
constexpr int64_t kMapFrom = int64_t{64} << 10;
/// What groups answer (comm::DryGroup::kControlElements) is smaller, and must be zeros at first. Of larger
/// ones nobody reads what he has not written.
constexpr int64_t kKeepFrom = int64_t{1} << 20;

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
    ~DryDevice() override { unmap_kept(); }
    std::byte* allocate(int64_t bytes) override {
        if (bytes < 0) refuse(bytes);
        const auto size = static_cast<std::size_t>(bytes);
        if (bytes < kMapFrom) {
            void* const memory = ::operator new(size, kAlignment, std::nothrow);
            if (memory == nullptr) refuse(bytes);
            std::memset(memory, 0, size);
            return static_cast<std::byte*>(memory);
        }
        if (const auto kept = kept_.find(bytes); kept != kept_.end() && !kept->second.empty()) {
            std::byte* const memory = kept->second.back();
            kept->second.pop_back();
            return memory;
        }
        std::byte* memory = map(bytes);
        if (memory == nullptr) {
            unmap_kept();
            memory = map(bytes);
        }
        if (memory == nullptr) refuse(bytes);
        return memory;
    }
    void free(std::byte* memory, int64_t bytes) noexcept override {
        if (bytes < kMapFrom) {
            ::operator delete(memory, kAlignment);
        } else if (bytes < kKeepFrom) {
            munmap(memory, static_cast<std::size_t>(bytes));
        } else if (!keep(memory, bytes)) {
            free_untouched_block(memory, bytes);
        }
    }
    const Kernels& kernels() const override { return kernels_; }

  private:
    [[noreturn]] static void refuse(int64_t bytes) {
        throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
    }
    /// Null where there are no addresses.
    static std::byte* map(int64_t bytes) {
        if (bytes >= kKeepFrom) return untouched_block(bytes);
        void* const memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
    }
    bool keep(std::byte* memory, int64_t bytes) noexcept {
        try {
            kept_[bytes].push_back(memory);
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    void unmap_kept() noexcept {
        for (const auto& [bytes, blocks] : kept_)
            for (std::byte* const memory : blocks) free_untouched_block(memory, bytes);
        kept_.clear();
    }

    NoWork work_;
    Kernels kernels_{work_};
    /// Blocks that were let go, by size: a step asks for the same sizes again and again.
    std::unordered_map<int64_t, std::vector<std::byte*>> kept_;
};

}  // namespace

std::unique_ptr<Device> make_dry_device() {
    return std::make_unique<DryDevice>();
}

bool does_nothing(const Device& device) {
    return dynamic_cast<const DryDevice*>(&device) != nullptr;
}

}  // namespace meshscope::tensor
