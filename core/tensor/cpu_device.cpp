#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>
#include <string>

#include "core/base/error.h"
#include "core/tensor/blas.h"
#include "core/tensor/device.h"
#include "core/tensor/kernels_bfloat16.h"

namespace meshscope::tensor {
namespace {

// Vector loads and cache lines both like 64.
constexpr std::align_val_t kAlignment{64};

[[noreturn]] void out_of_memory(int64_t bytes) {
    throw DeviceError({"device.out_of_memory", {{"bytes", bytes}}});
}

/// The machine's memory. More than this is refused at once: the kernel would promise it and kill the program
/// later.
int64_t physical_bytes() {
    return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

/// A block this large may use up what the machine has left, and is worth asking the system for.
constexpr int64_t kLargeBytes = int64_t{64} << 20;

/// What can be had without pushing others out: /proc/meminfo's MemAvailable. Where nothing tells it, no
/// limit.
int64_t available_bytes() {
    std::ifstream meminfo("/proc/meminfo");
    std::string key, unit;
    for (int64_t kilobytes = 0; meminfo >> key >> kilobytes; std::getline(meminfo, unit))
        if (key == "MemAvailable:") return kilobytes * 1024;
    return std::numeric_limits<int64_t>::max();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsFreed = false;  // they must see every block come and go
#else
constexpr bool kKeepsFreed = true;
#endif

/// Large blocks, mapped one by one, and the freed ones kept for the next request of the same size: a training
/// step asks for what the step before gave back, and pages that stay mapped need not be cleared again. When
/// none fits, a new one is made of the oldest kept ones, as far as all of them together would be a quarter
/// more than the most that was ever in use at once, which is what the memory ledger says. (With a sixteenth,
/// every step of FSDP2 asked the system for 6,000 pages again, with a quarter for 1,600; malloc's free lists,
/// cut up by blocks of many sizes, held twice the ledger's bytes.)
class LargeBlocks {
  public:
    /// Blocks from this size on.
    static constexpr int64_t kLeastBytes = int64_t{256} << 10;

    ~LargeBlocks() {
        for (const Block& block : kept_) unmap(block);
    }

    /// Null where the system has no room.
    std::byte* take(int64_t bytes) {
        const int64_t size = whole_pages(bytes);
        const std::lock_guard lock(mutex_);
        in_use_ += size;
        most_in_use_ = std::max(most_in_use_, in_use_);
        const auto fits = std::ranges::find(kept_, size, &Block::bytes);
        if (fits != kept_.end()) {
            std::byte* const memory = fits->memory;
            kept_.erase(fits);
            return memory;
        }
        const Block old = victim(most_in_use_ + most_in_use_ / 4 - size);
        const auto length = static_cast<std::size_t>(size);
        void* const memory =
            old.memory != nullptr
                ? mremap(old.memory, static_cast<std::size_t>(old.bytes), length, MREMAP_MAYMOVE)
                : mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            in_use_ -= size;
            if (old.memory != nullptr) kept_.push_front(old);
            return nullptr;
        }
        mapped_ += size - old.bytes;
        return static_cast<std::byte*>(memory);
    }
    void put(std::byte* memory, int64_t bytes) {
        const std::lock_guard lock(mutex_);
        kept_.push_back({memory, whole_pages(bytes)});
        in_use_ -= kept_.back().bytes;
    }

  private:
    struct Block {
        std::byte* memory = nullptr;
        int64_t bytes = 0;
    };
    static int64_t whole_pages(int64_t bytes) {
        static const int64_t page = sysconf(_SC_PAGESIZE);
        return (bytes + page - 1) / page * page;
    }
    /// Takes kept blocks out, the oldest first, until the rest is at most `bytes`, and unmaps all but the
    /// largest of them, which becomes the new block: its pages need not be cleared.
    Block victim(int64_t bytes) {
        Block largest;
        while (mapped_ - largest.bytes > bytes && !kept_.empty()) {
            Block next = kept_.front();
            kept_.pop_front();
            if (next.bytes > largest.bytes) std::swap(next, largest);
            unmap(next);
        }
        return largest;
    }
    void unmap(const Block& block) {
        if (block.memory == nullptr) return;
        munmap(block.memory, static_cast<std::size_t>(block.bytes));
        mapped_ -= block.bytes;
    }
    std::mutex mutex_;
    std::deque<Block> kept_;  ///< oldest first
    int64_t in_use_ = 0, most_in_use_ = 0;
    int64_t mapped_ = 0;  ///< in use and kept
};

class CpuDevice final : public Device {
  public:
    explicit CpuDevice(MatMul mat_mul) {
        if (mat_mul == MatMul::reference)
            kernels_ = std::make_unique<WithBfloat16<ReferenceKernels>>(*this);
        else
            kernels_ = std::make_unique<WithBfloat16<CpuKernels>>(*this);
    }

    std::byte* allocate(int64_t bytes) override {
        if (bytes < 0 || bytes > physical_bytes_) out_of_memory(bytes);
        if (bytes >= kLargeBytes && bytes > available_bytes()) out_of_memory(bytes);
        std::byte* const memory = is_large(bytes)
                                      ? large_.take(bytes)
                                      : static_cast<std::byte*>(::operator new(
                                            static_cast<std::size_t>(bytes), kAlignment, std::nothrow));
        if (memory == nullptr) out_of_memory(bytes);
        return memory;
    }
    void free(std::byte* memory, int64_t bytes) noexcept override {
        if (is_large(bytes))
            large_.put(memory, bytes);
        else
            ::operator delete(memory, kAlignment);
    }
    const Kernels& kernels() const override { return *kernels_; }

  private:
    static bool is_large(int64_t bytes) { return kKeepsFreed && bytes >= LargeBlocks::kLeastBytes; }

    LargeBlocks large_;
    std::unique_ptr<Kernels> kernels_;
    int64_t physical_bytes_ = physical_bytes();
};

}  // namespace

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
