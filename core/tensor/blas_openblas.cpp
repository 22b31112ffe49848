#include <cblas.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <semaphore>
#include <vector>

#include "core/base/address_space.h"
#include "core/base/cores.h"
#include "core/base/error.h"
#include "core/tensor/blas_library.h"
#include "core/tensor/room.h"

/// OpenBLAS's own (its common.h): a buffer, which it keeps for later products once it is freed.
extern "C" void* blas_memory_alloc(int place) __attribute__((weak));
extern "C" void blas_memory_free(void* buffer) __attribute__((weak));

namespace meshscope::tensor {
namespace {

/// Ranks are threads already: with threads of its own OpenBLAS would run ranks × cores of them.
void use_one_thread() {
    static const bool done = [] {
        openblas_set_num_threads(1);
        return true;
    }();
    static_cast<void>(done);
}

/// Where mapping is limited: so many products may run at a time. Each takes a buffer of up to 128 MiB, and
/// where OpenBLAS can map none it asks again for ever. As many as a quarter of the room has place for, one a
/// core at most, are made when the library is loaded, and no product goes beyond them.
class Turns {
  public:
    /// Throws std::bad_alloc where there is no room for one.
    Turns() : free_(make_buffers()) {}

    void take() { free_.acquire(); }
    void give_back() { free_.release(); }

  private:
    static std::ptrdiff_t make_buffers() {
        constexpr int64_t kBuffer = int64_t{128} << 20, kBeside = int64_t{2} << 20;
        int64_t wanted = usable_cores();
        if (const auto left = address_space_left())
            wanted = std::clamp<int64_t>(left->left_bytes / 4 / kBuffer, 1, wanted);
        const bool can_make = blas_memory_alloc != nullptr && blas_memory_free != nullptr;
        if (!can_make) wanted = 1;  // which its first product makes
        std::vector<void*> made;
        for (int64_t i = 0; i < wanted && can_map(kBuffer + kBeside); ++i)
            made.push_back(can_make ? blas_memory_alloc(0) : nullptr);
        if (made.empty()) throw std::bad_alloc();
        if (can_make)
            for (void* const buffer : made) blas_memory_free(buffer);
        return static_cast<std::ptrdiff_t>(made.size());
    }

    std::counting_semaphore<> free_;
};

/// Null where mapping is not limited.
Turns* turns() {
    static const std::unique_ptr<Turns> limited = mapping_is_limited() ? std::make_unique<Turns>() : nullptr;
    return limited.get();
}

/// One product's turn.
class Turn {
  public:
    Turn() {
        if (Turns* const limited = turns()) limited->take();
    }
    ~Turn() {
        if (Turns* const limited = turns()) limited->give_back();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
};

blasint size_of(int64_t n) {
    if (n > std::numeric_limits<blasint>::max()) throw InvalidArgument({"kernel.too_large", {{"n", n}}});
    return static_cast<blasint>(n);
}

void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
             Block b, float beta, float* c, int64_t c_stride, Lower) {
    if (beta == 0.0F) {
        // Cleared here rather than by the library, whose own loop for it takes a tenth of a small product.
        if (c_stride == n) {
            std::fill_n(c, m * n, 0.0F);
        } else {
            for (int64_t row = 0; row < m; ++row) std::fill_n(c + row * c_stride, n, 0.0F);
        }
    }
    use_one_thread();
    const Turn turn;
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, size_of(m), size_of(n), size_of(k), alpha, a.data,
                size_of(a.stride), b.data, size_of(b.stride), 1.0F, c, size_of(c_stride));
}

}  // namespace
}  // namespace meshscope::tensor

extern "C" const meshscope::tensor::BlasLibrary* meshscope_blas_library() {
    meshscope::tensor::turns();  // made while room is held
    static const meshscope::tensor::BlasLibrary library{"OpenBLAS", "openblas", meshscope::tensor::product};
    return &library;
}
