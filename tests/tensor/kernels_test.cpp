// Every kernel of the fast CPU device against the naive reference, over sizes of 0, 1, odd and larger.
#include "core/tensor/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/random.h"
#include "core/tensor/blas.h"
#include "core/tensor/blas_library.h"
#include "core/tensor/dtype.h"
#include "tests/tensor/kernel_pair.h"
#include "tests/tensor/operand.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

const std::vector<int64_t> kCounts{0, 1, 3, 7, 64, 1001};

struct Sizes {
    int64_t rows, inputs, outputs;
};
const std::vector<Sizes> kLinear{{0, 4, 3}, {5, 0, 3},   {5, 3, 0},    {1, 1, 1},     {1, 7, 5},  {8, 10, 10},
                                 {3, 5, 7}, {17, 33, 9}, {64, 64, 64}, {31, 129, 65}, {4, 512, 2}};

std::vector<float> normals(int64_t n, uint64_t stream) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < n; ++i)
        numbers.push_back(static_cast<float>(normal(1, stream, static_cast<uint64_t>(i))));
    return numbers;
}

}  // namespace

TEST_CASE("linear layers: the fast kernels agree with the reference") {
    Pair p;
    for (const auto& [rows, inputs, outputs] : kLinear) {
        CAPTURE(rows, inputs, outputs);
        const Tensor x = p.random({rows, inputs});
        const Tensor w = p.random({outputs, inputs});
        const Tensor b = p.random({outputs});
        const Tensor dy = p.random({rows, outputs});
        // Rounding of a sum of k products of normal numbers: about eps · √k · √k; 64 leaves room.
        const double tolerance = 64 * 1.2e-7;

        for (const Tensor& bias : {b, Tensor()}) {
            const Tensor y1 = p.random({rows, outputs});
            const Tensor y2 = p.random({rows, outputs});
            p.fast.linear_forward(y1, x, w, bias);
            p.plain.linear_forward(y2, x, w, bias);
            CHECK(distance(y1, y2) < tolerance);
        }
        const Tensor dx1 = p.random({rows, inputs});
        const Tensor dx2 = p.random({rows, inputs});
        p.fast.linear_input_grad(dx1, dy, w);
        p.plain.linear_input_grad(dx2, dy, w);
        CHECK(distance(dx1, dx2) < tolerance);
        for (const bool accumulate : {false, true}) {
            const Tensor dw1 = p.random({outputs, inputs});
            const Tensor dw2 = p.copy(dw1);
            p.fast.linear_weight_grad(dw1, dy, x, accumulate);
            p.plain.linear_weight_grad(dw2, dy, x, accumulate);
            CHECK(distance(dw1, dw2) < tolerance);
            const Tensor db1 = p.random({outputs});
            const Tensor db2 = p.copy(db1);
            p.fast.linear_bias_grad(db1, dy, accumulate);
            p.plain.linear_bias_grad(db2, dy, accumulate);
            CHECK(distance(db1, db2) < tolerance);
        }
    }
}

TEST_CASE("a linear layer by hand") {
    Pair p;
    const auto make = [&](std::vector<float> v, Shape s) {
        return p.allocator.of(v, std::move(s), MemoryCategory::temporaries, "t");
    };
    const Tensor x = make({1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor w = make({1, 0, -1, 2, 1, 0}, {2, 3});
    const Tensor b = make({10, 20}, {2});
    for (const Kernels* k : {&p.fast, &p.plain}) {
        const Tensor y = p.random({2, 2});
        k->linear_forward(y, x, w, b);
        CHECK(distance(y, make({8, 24, 8, 33}, {2, 2})) == 0.0);
        const Tensor dw = make({1, 1, 1, 1, 1, 1}, {2, 3});
        k->linear_weight_grad(dw, make({1, 0, 0, 2}, {2, 2}), x, true);
        CHECK(distance(dw, make({2, 3, 4, 9, 11, 13}, {2, 3})) == 0.0);
        const Tensor dx = p.random({2, 3});
        k->linear_input_grad(dx, make({1, 0, 0, 2}, {2, 2}), w);
        CHECK(distance(dx, make({1, 0, -1, 4, 2, 0}, {2, 3})) == 0.0);
    }
}

TEST_CASE("the matrix product handles every transposition") {
    // C[i][j] = Σ A[i][k] B[k][j] with A stored transposed or not; the expected sums are written out.
    const std::vector<float> a{1, 2, 3, 4, 5, 6};         // (2, 3)
    const std::vector<float> a_turned{1, 4, 2, 5, 3, 6};  // (3, 2)
    const std::vector<float> b{1, 0, 0, 1, 2, 2};         // (3, 2)
    const std::vector<float> b_turned{1, 0, 2, 0, 1, 2};  // (2, 3)
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            std::vector<float> c{1, 1, 1, 1};
            matrix_product(ta, tb, 2, 2, 3, ta ? a_turned.data() : a.data(), tb ? b_turned.data() : b.data(),
                           1.0F, c.data());
            CHECK(c == std::vector<float>{8, 9, 17, 18});
        }
    }
}

TEST_CASE("every matrix library computes the same product of blocks") {
    // Against sums in double; odd sizes, rows further apart than they are long (of 1021, a page), both betas;
    // the last two are beyond our own loops, where the library has two ways and alpha decides, among others.
    for (const BlasChoice& choice : blas_choices()) {
        const BlasLibrary* const library = &load_blas(choice);
        CAPTURE(library->name);
        for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                         {3, 5, 7},
                                                                         {17, 33, 65},
                                                                         {64, 96, 32},
                                                                         {70, 130, 140},
                                                                         {130, 4, 257},
                                                                         {200, 130, 170},
                                                                         {1021, 66, 70}}) {
            for (int flags = 0; flags < 16; ++flags) {
                const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0, adds = (flags & 4) != 0;
                const float alpha = (flags & 8) != 0 ? 1.0F : 0.5F;
                CAPTURE(m, n, k, ta, tb, adds, alpha);
                const int64_t a_stride = (ta ? m : k) + 3, b_stride = (tb ? k : n) + 1, c_stride = n + 2;
                const auto a = normals((ta ? k : m) * a_stride, 1), b = normals((tb ? n : k) * b_stride, 2);
                const auto before = normals(m * c_stride, 3);
                auto c = before;
                library->product(ta, tb, m, n, k, alpha, {a.data(), a_stride}, {b.data(), b_stride},
                                 adds ? 1.0F : 0.0F, c.data(), c_stride, {});
                double worst = 0;
                for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < c_stride; ++j) {
                        const auto at = static_cast<std::size_t>(i * c_stride + j);
                        double sum = j >= n || adds ? double{before[at]} : 0.0;
                        if (j < n)
                            sum += double{alpha} * element({a, a_stride, ta}, {b, b_stride, tb}, i, j, k);
                        worst = std::max(worst, std::abs(sum - double{c[at]}));
                    }
                // A sum of k products of normal numbers, each rounded to 24 bits.
                CHECK(worst <= 6e-8 * 4 * static_cast<double>(k));
            }
        }
    }
}

TEST_CASE("a library answers for more forms than it keeps code for") {
    constexpr int64_t kForms = 300, kLeast = 1000, n = 64, k = 66;  // beyond our own loops
    const auto a = normals((kLeast + kForms) * k, 1), b = normals(k * n, 2);
    std::vector<float> c(static_cast<std::size_t>((kLeast + kForms) * n));
    const double wanted = element({a, k}, {b, n}, 0, 0, k);  // the same in each form
    for (const BlasChoice& choice : blas_choices()) {
        const BlasLibrary* const library = &load_blas(choice);
        CAPTURE(library->name);
        for (const int64_t first : {int64_t{0}, kForms - 5})  // the last ones again, which are kept
            for (int64_t m = kLeast + first; m < kLeast + kForms; ++m) {
                library->product(false, false, m, n, k, 1.0F, {a.data(), k}, {b.data(), n}, 0.0F, c.data(), n,
                                 {});
                CHECK(std::abs(wanted - double{c[0]}) <= 6e-8 * 4 * static_cast<double>(k));
            }
    }
}

TEST_CASE("a product of a lower matrix computes what counts") {
    for (const BlasChoice& choice : blas_choices()) {
        const BlasLibrary* const library = &load_blas(choice);
        CAPTURE(library->name);
        for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                         {32, 32, 16},
                                                                         {32, 16, 32},
                                                                         {13, 33, 7},
                                                                         {70, 64, 64},
                                                                         {64, 128, 32},
                                                                         {130, 4, 257}})
            for (const auto diagonal : {-90, -3, 0, 5, 300})
                for (int flags = 0; flags < 16; ++flags) {
                    const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0, adds = (flags & 4) != 0;
                    const bool left = (flags & 8) != 0;
                    CAPTURE(m, n, k, diagonal, ta, tb, adds, left);
                    auto a = normals(m * k, 1);
                    const auto b = normals(n * k, 2), before = normals(m * n, 3);
                    const int64_t a_stride = ta ? m : k, b_stride = tb ? k : n;
                    if (left)
                        for (int64_t i = 0; i < (ta ? k : m); ++i)
                            for (int64_t j = 0; j < a_stride; ++j)
                                if (j > i + diagonal) a[static_cast<std::size_t>(i * a_stride + j)] = 0;
                    auto c = before;
                    library->product(ta, tb, m, n, k, 1.0F, {a.data(), a_stride}, {b.data(), b_stride},
                                     adds ? 1.0F : 0.0F, c.data(), n,
                                     {left ? Lower::Matrix::left : Lower::Matrix::result, diagonal});
                    double worst = 0;
                    for (int64_t i = 0; i < m; ++i)
                        for (int64_t j = 0; j < n; ++j) {
                            if (!left && j > i + diagonal) continue;
                            const auto at = static_cast<std::size_t>(i * n + j);
                            const double sum = (adds ? double{before[at]} : 0.0) +
                                               element({a, a_stride, ta}, {b, b_stride, tb}, i, j, k);
                            worst = std::max(worst, std::abs(sum - double{c[at]}));
                        }
                    CHECK(worst <= 6e-8 * 4 * static_cast<double>(k + 1));
                }
    }
}

TEST_CASE("element by element kernels agree with the reference") {
    Pair p;
    for (const int64_t n : kCounts) {
        CAPTURE(n);
        const Tensor x = p.random({n});
        const Tensor dy = p.random({n});
        const auto both = [&](const auto& call, double tolerance) {
            const Tensor out1 = p.copy(dy);
            const Tensor out2 = p.copy(dy);
            call(p.fast, out1);
            call(p.plain, out2);
            CHECK(distance(out1, out2) <= tolerance);
        };
        both([&](const Kernels& k, const Tensor& out) { k.fill(out, 1.5F); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.zero(out); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.copy(out, x); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.scale(out, 0.3F); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.add(out, x, dy); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.axpy(out, -0.7F, x); }, 2.4e-7);
        both([&](const Kernels& k, const Tensor& out) { k.relu_forward(out, x); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.relu_backward(out, dy, x); }, 0.0);
        both([&](const Kernels& k, const Tensor& out) { k.gelu_tanh_forward(out, x); }, 5e-7);
        both([&](const Kernels& k, const Tensor& out) { k.gelu_tanh_backward(out, dy, x); }, 2e-6);
        both([&](const Kernels& k, const Tensor& out) { k.gelu_forward(out, x); }, 5e-7);
        both([&](const Kernels& k, const Tensor& out) { k.gelu_backward(out, dy, x); }, 2e-6);
        // Two orders of a sum of n doubles differ by n roundings at most.
        CHECK(std::abs(p.fast.sum_of_squares(x) - p.plain.sum_of_squares(x)) <=
              2.3e-16 * static_cast<double>(n) * p.plain.sum_of_squares(x));
        if (n == 0) continue;
        const Tensor seed =
            p.allocator.of(std::vector<float>{0.5F}, {1}, MemoryCategory::temporaries, "seed");
        both([&](const Kernels& k, const Tensor& out) { k.mse_backward(out, seed, x, dy); }, 2.4e-7);
        const Tensor loss1 = p.random({1});
        const Tensor loss2 = p.random({1});
        p.fast.mse_forward(loss1, x, dy);
        p.plain.mse_forward(loss2, x, dy);
        CHECK(distance(loss1, loss2) <= 1.2e-7);
    }
}

TEST_CASE("optimizer kernels agree with the reference over several steps") {
    Pair p;
    for (const int64_t n : kCounts) {
        for (const double momentum : {0.0, 0.9}) {
            const Tensor value1 = p.random({n});
            const Tensor value2 = p.copy(value1);
            const Tensor buffer1 = p.random({n});
            const Tensor buffer2 = p.copy(buffer1);
            for (int step = 0; step < 4; ++step) {
                const Tensor grad = p.random({n});
                const SgdStep how{0.1, momentum, 0.01, step == 0};
                p.fast.sgd_step(value1, grad, momentum == 0.0 ? Tensor() : buffer1, how);
                p.plain.sgd_step(value2, grad, momentum == 0.0 ? Tensor() : buffer2, how);
            }
            CHECK(distance(value1, value2) < 1e-6);
        }
        for (const bool decoupled : {false, true}) {
            const Tensor value1 = p.random({n});
            const Tensor value2 = p.copy(value1);
            const Tensor m1 = p.allocator.zeros({n}, DType::float32, MemoryCategory::optimizer_state, "m");
            const Tensor v1 = p.copy(m1);
            const Tensor m2 = p.copy(m1);
            const Tensor v2 = p.copy(m1);
            for (int step = 1; step <= 4; ++step) {
                const Tensor grad = p.random({n});
                const AdamStep how{0.01, 0.9, 0.999, 1e-8, 0.1, decoupled, step};
                p.fast.adam_step(value1, grad, m1, v1, how);
                p.plain.adam_step(value2, grad, m2, v2, how);
            }
            CHECK(distance(value1, value2) < 2e-6);
        }
    }
}

TEST_CASE("casting goes both ways, and copying keeps bits of any dtype") {
    Pair p;
    const Tensor x = p.random({257});
    const Tensor half = p.allocator.empty({257}, DType::bfloat16, MemoryCategory::temporaries, "half");
    const Tensor back = p.random({257});
    p.fast.cast(half, x);
    p.fast.cast(back, half);
    for (std::size_t i = 0; i < 257; ++i) {
        CHECK(half.data<uint16_t>()[i] == to_bfloat16(x.data<float>()[i]));
        CHECK(back.data<float>()[i] == from_bfloat16(half.data<uint16_t>()[i]));
    }
    const Tensor ids = p.allocator.zeros({3}, DType::int64, MemoryCategory::temporaries, "ids");
    ids.data<int64_t>()[1] = int64_t{1} << 40U;
    CHECK(p.copy(ids).data<int64_t>()[1] == int64_t{1} << 40U);
}

TEST_CASE("float16 is cast, scaled and added: in float32, rounded once") {
    Pair p;
    const Tensor x = p.random({257});
    const auto half = [&] {
        return p.allocator.empty({257}, DType::float16, MemoryCategory::temporaries, "half");
    };
    for (const Kernels* kernels :
         {static_cast<const Kernels*>(&p.fast), static_cast<const Kernels*>(&p.plain)}) {
        const Tensor a = half(), b = half(), back = p.random({257});
        const Tensor wide =
            p.allocator.empty({257}, DType::bfloat16, MemoryCategory::temporaries, "bfloat16");
        kernels->cast(a, x);
        kernels->cast(back, a);
        kernels->copy(b, a);
        kernels->scale(b, 1.0F / 3);
        kernels->cast(wide, a);
        const auto as = a.data<Float16>(), bs = b.data<Float16>();
        for (std::size_t i = 0; i < 257; ++i) {
            CHECK(as[i] == to_float16(x.data<float>()[i]));
            CHECK(back.data<float>()[i] == from_float16(as[i]));
            CHECK(bs[i] == to_float16(1.0F / 3 * from_float16(as[i])));
            CHECK(wide.data<uint16_t>()[i] == to_bfloat16(from_float16(as[i])));
        }
        const Tensor sum = half();
        kernels->add(sum, a, b);
        kernels->cast(b, wide);
        for (std::size_t i = 0; i < 257; ++i)
            CHECK(b.data<Float16>()[i] == to_float16(from_bfloat16(wide.data<uint16_t>()[i])));
        kernels->cast(b, x);
        kernels->scale(b, 1.0F / 3);
        for (std::size_t i = 0; i < 257; ++i)
            CHECK(sum.data<Float16>()[i] ==
                  to_float16(from_float16(as[i]) + from_float16(b.data<Float16>()[i])));
    }
}

TEST_CASE("ReLU lets a NaN through and takes no gradient at zero") {
    Pair p;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Tensor x =
        p.allocator.of(std::vector<float>{-1.0F, 0.0F, 2.0F, nan}, {4}, MemoryCategory::temporaries, "x");
    const Tensor y = p.random({4});
    const Tensor dx = p.random({4});
    p.fast.relu_forward(y, x);
    CHECK(y.data<float>()[0] == 0.0F);
    CHECK(y.data<float>()[2] == 2.0F);
    CHECK(std::isnan(y.data<float>()[3]));
    p.fast.fill(dx, 1.0F);
    p.fast.relu_backward(dx, dx, y);
    CHECK(dx.data<float>()[0] == 0.0F);
    CHECK(dx.data<float>()[1] == 0.0F);
    CHECK(dx.data<float>()[2] == 1.0F);
}

TEST_CASE("shapes that do not fit are refused by name") {
    Pair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_forward(p.random({2, 2}), p.random({2, 3}), p.random({2, 4}), Tensor());
              }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_forward(p.random({2, 2}), p.random({2, 3}), p.random({2, 3}), p.random({3}));
              }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_weight_grad(p.random({2, 3}), p.random({5, 2}), p.random({4, 3}), false);
              }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>(
                  [&] { k->add(p.random({2}), p.random({3}), p.random({2})); }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] { k->relu_forward(Tensor(), p.random({2})); }) ==
              "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->adam_step(p.random({2}), p.random({2}), p.random({2}), p.random({3}), {});
              }) == "kernel.shape");
    }
}

TEST_CASE("the same inputs give the same bits again") {
    Pair p;
    const Tensor x = p.random({37, 129});
    const Tensor w = p.random({65, 129});
    const Tensor y1 = p.random({37, 65});
    const Tensor y2 = p.random({37, 65});
    p.fast.linear_forward(y1, x, w, Tensor());
    p.fast.linear_forward(y2, x, w, Tensor());
    CHECK(distance(y1, y2) == 0.0);
}
