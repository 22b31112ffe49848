#include <algorithm>
#include <atomic>
#include <functional>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/base/error.h"
#include "core/tensor/blas_library.h"
#include "core/tensor/room.h"
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

/// What a matmul is made for: everything of a product but where its matrices lie.
struct Form {
    bool transpose_a, transpose_b, adds;
    int64_t m, n, k, a_stride, b_stride, c_stride;

    bool operator==(const Form&) const = default;
};

struct FormHash {
    std::size_t operator()(const Form& form) const {
        std::size_t hash =
            (form.transpose_a ? 1U : 0U) | (form.transpose_b ? 2U : 0U) | (form.adds ? 4U : 0U);
        for (const int64_t number : {form.m, form.n, form.k, form.a_stride, form.b_stride, form.c_stride})
            hash = hash * 1'000'003 + std::hash<int64_t>{}(number);
        return hash;
    }
};

[[noreturn]] void refuse(dnnl_status_t status, const Form& form) {
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    throw InvalidArgument({"kernel.product_refused",
                           {{"library", std::string("oneDNN")},
                            {"status", int64_t{status}},
                            {"m", form.m},
                            {"n", form.n},
                            {"k", form.k}}});
}

/// Where dnnl_sgemm packs both operands, a matmul packs what its form needs: 0.91 to 1.03 of the time for the
/// layers of a model, thin products twice. It reads a transposed A in place, which is slower (1.01 to 1.08)
/// unless its rows are a multiple of 4 KiB apart: sgemm packs those at 0.9 of its speed, they share cache
/// sets.
bool suits_matmul(const Form& form) {
    constexpr int64_t kLeast = 64, kMostOfB = int64_t{1} << 20, kNumbersOfPage = 1024;
    return form.m >= kLeast && form.n >= kLeast && form.k >= kLeast && form.n <= kMostOfB / form.k &&
           (!form.transpose_a || form.a_stride % kNumbersOfPage == 0);
}

/// For the code of a form, which takes 1 MiB or two. oneDNN does not see where none could be mapped for it.
constexpr int64_t kRoomForCode = int64_t{16} << 20;

const dnnl::engine& processor() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

/// oneDNN's code for one form, and the places of its matrices, which change with each call.
class Matmul {
  public:
    explicit Matmul(const Form& form)
        : Matmul(matrix(form.m, form.k, form.a_stride, form.transpose_a),
                 matrix(form.k, form.n, form.b_stride, form.transpose_b),
                 matrix(form.m, form.n, form.c_stride, false), form.adds) {}

    void operator()(const dnnl::stream& stream, const float* a, const float* b, float* c) {
        a_.set_data_handle(const_cast<float*>(a));  // inputs: only read
        b_.set_data_handle(const_cast<float*>(b));
        c_.set_data_handle(c);
        const dnnl_exec_arg_t places[] = {
            {DNNL_ARG_SRC, a_.get()}, {DNNL_ARG_WEIGHTS, b_.get()}, {DNNL_ARG_DST, c_.get()}};
        dnnl::error::wrap_c_api(dnnl_primitive_execute(code_.get(), stream.get(), 3, places), "matmul");
    }

  private:
    using Layout = dnnl::memory::desc;

    Matmul(const Layout& a, const Layout& b, const Layout& c, bool adds)
        : code_(description(a, b, c, adds)),
          a_(a, processor(), nullptr),
          b_(b, processor(), nullptr),
          c_(c, processor(), nullptr) {}

    static Layout matrix(int64_t rows, int64_t columns, int64_t stride, bool transposed) {
        return {{rows, columns},
                dnnl::memory::data_type::f32,
                transposed ? dnnl::memory::dims{1, stride} : dnnl::memory::dims{stride, 1}};
    }

    static dnnl::matmul::primitive_desc description(const Layout& a, const Layout& b, const Layout& c,
                                                    bool adds) {
        dnnl::primitive_attr attributes;
        if (adds) {
            dnnl::post_ops after;
            after.append_sum(1.0F);
            attributes.set_post_ops(after);
        }
#if DNNL_VERSION_MAJOR >= 3
        return {processor(), a, b, c, attributes};
#else
        return {{a, b, c}, attributes, processor()};
#endif
    }

    dnnl::matmul code_;
    dnnl::memory a_, b_, c_;
};

/// A thread keeps what it had made: making it takes 0.2 ms, and 10 µs where another thread had made the same.
void multiply(const Form& form, const float* a, const float* b, float* c) {
    constexpr std::size_t kMost = 256;
    thread_local std::unordered_map<Form, Matmul, FormHash> kept;
    thread_local const dnnl::stream stream(processor());
    try {
        if (kept.size() >= kMost) kept.clear();
        auto found = kept.find(form);
        if (found == kept.end()) {
            const HeldRoom room(kRoomForCode);
            found = kept.try_emplace(form, form).first;
        }
        found->second(stream, a, b, c);
    } catch (const dnnl::error& e) {
        refuse(e.status, form);
    }
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
    static std::atomic<bool> made{false};  // the first dnnl_sgemm makes all its code
    std::optional<HeldRoom> room;
    const Form form{transpose_a, transpose_b, beta != 0.0F, m, n, k, a.stride, b.stride, c_stride};
    if (alpha == 1.0F && suits_matmul(form)) return multiply(form, a.data, b.data, c);
    if (!made) room.emplace(kRoomForCode);
    const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha,
                                            a.data, a.stride, b.data, b.stride, beta, c, c_stride);
    if (status != dnnl_success) refuse(status, form);
    made = true;
}

}  // namespace
}  // namespace meshscope::tensor

extern "C" const meshscope::tensor::BlasLibrary* meshscope_blas_library() {
    static const meshscope::tensor::BlasLibrary library{"oneDNN", "onednn", meshscope::tensor::product};
    return &library;
}
