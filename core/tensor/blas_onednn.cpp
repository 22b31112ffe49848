#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <new>
#include <string>

#include "core/base/error.h"
#include "core/tensor/blas_library.h"
#include "core/tensor/vector_loops.h"

// OpenMP's, which oneDNN is built on; declared here so that nothing else needs to be compiled for OpenMP.
extern "C" void omp_set_num_threads(int threads);

namespace meshscope::tensor {
namespace {

/// Ranks are threads already: with a team of its own each product would run on every core. OpenMP keeps the
/// count a thread, so every thread says so once.
void use_one_thread() {
    thread_local const bool done = [] {
        omp_set_num_threads(1);
        return true;
    }();
    static_cast<void>(done);
}

/// Columns of C, and terms of its sums, that our own loops do at once: op(B)'s part stays close.
constexpr int64_t kPiece = 64;
static_assert(kPiece * kPiece <= SmallProduct::kMostPacked);

/// Up to here our own loops are faster: 1.7 times for 32 × 16 × 32, 1.07 for 128 × 64 × 128, 1.0 to 1.2 for
/// 256 × 64 × 256. A call takes oneDNN half a microsecond, allocations among it, and it turns and packs more.
bool is_small(int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kMostSums = int64_t{256} * 64 * 256;
    return k <= kMostSums && n <= kMostSums / k && m <= kMostSums / (n * k);
}

/// Half of a product does not count, and one call of our loops can leave it out; oneDNN would not.
bool is_half(int64_t n, int64_t k, Lower lower) {
    return lower.matrix != Lower::Matrix::none && k * ((n + 31) / 32 * 32) <= SmallProduct::kMostPacked;
}

void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
             Block b, float beta, float* c, int64_t c_stride, Lower lower) {
    const auto piece = [&](int64_t column, int64_t columns, int64_t term, int64_t terms, Lower part) {
        loops().small_product({transpose_a, transpose_b, beta != 0.0F || term > 0, m, columns, terms, alpha,
                               a.data + term * (transpose_a ? a.stride : 1), a.stride,
                               b.data + (transpose_b ? column * b.stride + term : term * b.stride + column),
                               b.stride, c + column, c_stride, part});
    };
    if (is_half(n, k, lower)) return piece(0, n, 0, k, lower);
    if (is_small(m, n, k)) {
        for (int64_t term = 0; term < k; term += kPiece)
            for (int64_t column = 0; column < n; column += kPiece)
                piece(column, std::min(kPiece, n - column), term, std::min(kPiece, k - term), {});
        return;
    }
    use_one_thread();
    const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha,
                                            a.data, a.stride, b.data, b.stride, beta, c, c_stride);
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    if (status != dnnl_success)
        throw InvalidArgument({"kernel.product_refused",
                               {{"library", std::string("oneDNN")},
                                {"status", int64_t{status}},
                                {"m", m},
                                {"n", n},
                                {"k", k}}});
}

}  // namespace

const BlasLibrary& onednn() {
    static const BlasLibrary library{"oneDNN", "onednn", product};
    return library;
}

}  // namespace meshscope::tensor
