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

bool fits(int64_t n, int64_t k) {
    return k * ((n + 31) / 32 * 32) <= SmallProduct::kMostPacked;
}

/// Up to here our own loops are faster (1.7 times for 32 × 16 × 32, 1.03 times for 128 × 64 × 64): a call
/// takes oneDNN half a microsecond, allocations among it.
bool is_small(int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kMostSums = 128 * 64 * 64;
    return n <= 64 && k <= SmallProduct::kMostPacked / 64 && m <= kMostSums / (n * k);
}

/// A long sum over a transposed B goes in pieces of so many terms: to turn B first takes oneDNN a fifth of
/// 128 × 64 × 256.
constexpr int64_t kPiece = 64, kMostPieces = 8;

void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
             Block b, float beta, float* c, int64_t c_stride, Lower lower) {
    // oneDNN computes the half that does not count, too.
    if (is_small(m, n, k) || (lower.matrix != Lower::Matrix::none && fits(n, k))) {
        loops().small_product({transpose_a, transpose_b, beta != 0.0F, m, n, k, alpha, a.data, a.stride,
                               b.data, b.stride, c, c_stride, lower});
        return;
    }
    if (transpose_b && lower.matrix == Lower::Matrix::none && is_small(m, n, kPiece) &&
        k <= kMostPieces * kPiece) {
        for (int64_t l = 0; l < k; l += kPiece)
            loops().small_product({transpose_a, transpose_b, beta != 0.0F || l > 0, m, n,
                                   std::min(kPiece, k - l), alpha, a.data + l * (transpose_a ? a.stride : 1),
                                   a.stride, b.data + l, b.stride, c, c_stride});
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
