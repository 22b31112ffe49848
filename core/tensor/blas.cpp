#include "core/tensor/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/find_module.h"
#include "core/tensor/blas_library.h"
#include "core/tensor/room.h"

namespace meshscope::tensor {
namespace {

#ifdef MESHSCOPE_HAVE_ONEDNN
bool has_avx512() {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") > 0;
#else
    return false;
#endif
}
#endif

#ifdef MESHSCOPE_HAVE_ONEDNN
constexpr int64_t kOneDnnBytes = int64_t{72} << 20;  // of which its code is 40, what it makes of it 16
#endif
#ifdef MESHSCOPE_HAVE_OPENBLAS
constexpr int64_t kOpenBlasBytes = int64_t{192} << 20;  // its code 40, Fortran's 6, a buffer up to 128
#endif

/// What all products go through: the best until use_matrix_product_library() says otherwise.
struct Products {
    std::mutex mutex;  ///< over `choice`, and while it is loaded
    BlasChoice choice = blas_choices().front();
    std::atomic<const BlasLibrary*> loaded{nullptr};
};

Products& products() {
    static Products all;
    return all;
}

const BlasLibrary& load_chosen() {
    Products& all = products();
    const std::lock_guard lock(all.mutex);
    const BlasLibrary* library = all.loaded.load(std::memory_order_acquire);
    if (library == nullptr) {
        library = &load_blas(all.choice);
        all.loaded.store(library, std::memory_order_release);
    }
    return *library;
}

}  // namespace

std::vector<BlasChoice> blas_choices() {
    std::vector<BlasChoice> found;
#ifdef MESHSCOPE_HAVE_OPENBLAS
    found.push_back({"OpenBLAS", "openblas", true, kOpenBlasBytes});
#endif
#ifdef MESHSCOPE_HAVE_ONEDNN
    // A tenth to a fifth faster than OpenBLAS where there is AVX-512; with AVX2 alone it loses two thirds on
    // products of few rows.
    found.insert(has_avx512() ? found.begin() : found.end(), {"oneDNN", "onednn", true, kOneDnnBytes});
#endif
    found.push_back({plain_loops().name, plain_loops().word});
    return found;
}

const BlasLibrary& load_blas(const BlasChoice& choice) {
    if (!choice.is_module) return plain_loops();
    const auto fail = [&](const std::string& reason) {
        throw InvalidArgument(
            {"kernel.blas_not_loaded", {{"name", std::string(choice.name)}, {"reason", reason}}});
    };
    const std::string file = "meshscope_blas_" + std::string(choice.word) + ".so", path = find_module(file);
    // Local: no other library shall find its functions here. Never closed: it has threads.
    const HeldRoom room(choice.mapped_bytes);  // OpenBLAS maps a buffer as soon as it is there
    std::string reason;
    void* const handle = open_module(path.empty() ? file : path, reason);
    if (handle == nullptr) fail(reason);
    auto* const entry = reinterpret_cast<BlasEntry*>(dlsym(handle, kBlasEntry));
    if (entry == nullptr) fail(dlerror());
    return *entry();
}

void matrix_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, float beta, float* c) {
    block_product(transpose_a, transpose_b, m, n, k, 1.0F, {a, transpose_a ? m : k}, {b, transpose_b ? k : n},
                  beta, c, n);
}

void block_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, float alpha, Block a,
                   Block b, float beta, float* c, int64_t c_stride, Lower lower) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        if (beta == 0.0F)
            for (int64_t row = 0; row < m; ++row) std::fill_n(c + row * c_stride, n, 0.0F);
        return;
    }
    const BlasLibrary* library = products().loaded.load(std::memory_order_acquire);
    if (library == nullptr) library = &load_chosen();
    library->product(transpose_a, transpose_b, m, n, k, alpha, a, b, beta, c, c_stride, lower);
}

void use_matrix_product_library(std::string_view word) {
    std::string known;
    for (const BlasChoice& each : blas_choices()) {
        if (each.word == word) {
            Products& all = products();
            const std::lock_guard lock(all.mutex);
            all.choice = each;
            all.loaded.store(nullptr, std::memory_order_release);
            return;
        }
        known += (known.empty() ? "" : ", ") + std::string(each.word);
    }
    throw InvalidArgument({"kernel.unknown_blas", {{"name", std::string(word)}, {"known", known}}});
}

std::string_view matrix_product_library() {
    Products& all = products();
    const std::lock_guard lock(all.mutex);
    return all.choice.name;
}

int64_t matrix_product_library_bytes() {
    Products& all = products();
    const std::lock_guard lock(all.mutex);
    return all.loaded.load(std::memory_order_acquire) == nullptr ? all.choice.mapped_bytes : 0;
}

void load_matrix_product_library() {
    load_chosen();
}

}  // namespace meshscope::tensor
