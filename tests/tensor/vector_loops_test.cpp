// The accuracy that core/tensor/vector_loops.h states, and that an element's place does not matter.
#include "core/tensor/vector_choice.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "tests/tensor/operand.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

/// The distance between neighbouring floats at the float nearest to `x`.
double ulp(double x) {
    const float a = std::abs(static_cast<float>(x));
    return static_cast<double>(std::nextafter(a, std::numeric_limits<float>::infinity())) -
           static_cast<double>(a);
}

/// Values from `low` to `high` in even steps.
std::vector<float> range(double low, double high, int n) {
    std::vector<float> result;
    for (int i = 0; i < n; ++i) result.push_back(static_cast<float>(low + (high - low) * i / (n - 1)));
    return result;
}

std::vector<float> random(std::size_t n, uint64_t stream) {
    std::vector<float> result;
    for (std::size_t i = 0; i < n; ++i) result.push_back(static_cast<float>(normal(1, stream, i)));
    return result;
}

}  // namespace

TEST_CASE("exp is within the stated error, and right at its ends") {
    const std::vector<float> x = range(-87.3, 88.7, 400'003);
    for (const VectorLoops* table : runnable_loops()) {
        CAPTURE(table->name);
        std::vector<float> y(x.size());
        table->exp(y.data(), x.data(), static_cast<int64_t>(x.size()));
        double worst = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double exact = std::exp(static_cast<double>(x[i]));
            worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / ulp(exact));
        }
        INFO("largest error in ulp: " << worst);
        CHECK(worst < 1.1);

        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        const std::vector<float> ends{0.0F, -kInfinity, kInfinity, std::nanf(""), 1000.0F, -1000.0F, -100.0F};
        std::vector<float> at(ends.size());
        table->exp(at.data(), ends.data(), static_cast<int64_t>(ends.size()));
        CHECK(at[0] == 1.0F);
        CHECK(at[1] == 0.0F);
        CHECK(at[2] == kInfinity);
        CHECK(std::isnan(at[3]));
        CHECK(at[4] == kInfinity);
        CHECK(at[5] == 0.0F);
        // Below 2^-126 few bits are left: within one step of the smallest float.
        CHECK(std::abs(static_cast<double>(at[6]) - std::exp(-100.0)) <= 1.5e-45);
    }
}

TEST_CASE("gelu and SwiGLU are within the stated error") {
    const std::vector<float> x = range(-12, 12, 100'001);
    const std::vector<float> one(x.size(), 1.0F);
    const auto n = static_cast<int64_t>(x.size());
    for (const VectorLoops* table : runnable_loops()) {
        CAPTURE(table->name);
        std::vector<float> y(x.size());
        std::vector<float> slope(x.size());
        table->gelu_tanh_forward(y.data(), x.data(), n);
        table->gelu_tanh_backward(slope.data(), one.data(), x.data(), n);
        double worst = 0.0;
        double worst_slope = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double u = static_cast<double>(x[i]);
            const double k = std::sqrt(2.0 / std::acos(-1.0));
            const double t = std::tanh(k * (u + 0.044715 * u * u * u));
            const double exact = 0.5 * u * (1.0 + t);
            const double exact_slope =
                0.5 * (1.0 + t) + 0.5 * u * (1.0 - t * t) * k * (1.0 + 3 * 0.044715 * u * u);
            worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact) / (1.0 + std::abs(exact)));
            worst_slope =
                std::max(worst_slope, std::abs(static_cast<double>(slope[i]) - exact_slope) / (1.0 + u * u));
        }
        INFO("gelu " << worst << ", its slope " << worst_slope);
        CHECK(worst < 1.2e-7);
        CHECK(worst_slope < 1.2e-7);

        std::vector<float> dup(x.size());
        table->silu_mul_forward(y.data(), x.data(), one.data(), n);
        table->silu_mul_backward(slope.data(), dup.data(), one.data(), x.data(), one.data(), n);
        double worst_ulp = 0.0;
        worst_slope = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double u = static_cast<double>(x[i]);
            const double s = 1.0 / (1.0 + std::exp(-u));
            if (u > -10.0)
                worst_ulp = std::max(worst_ulp, std::abs(static_cast<double>(y[i]) - u * s) / ulp(u * s));
            const double wanted = s * (1.0 + u * (1.0 - s));
            worst_slope =
                std::max(worst_slope, std::abs(static_cast<double>(slope[i]) - wanted) / (1.0 + std::abs(u)));
            CHECK_FALSE(std::isnan(dup[i]));
        }
        INFO("silu in ulp " << worst_ulp << ", its slope " << worst_slope);
        CHECK(worst_ulp < 2.5);
        CHECK(worst_slope < 1.2e-7);
    }
}

TEST_CASE("activations at the ends of the floats") {
    constexpr float kHuge = 1e15F;
    const std::vector<float> x{-kHuge, kHuge, -0.0F, 0.0F, std::nanf("")};
    const std::vector<float> one(x.size(), 1.0F);
    const auto n = static_cast<int64_t>(x.size());
    for (const VectorLoops* table : runnable_loops()) {
        std::vector<float> y(x.size());
        table->gelu_tanh_forward(y.data(), x.data(), n);
        CHECK(y[0] == 0.0F);
        CHECK(y[1] == kHuge);
        CHECK(y[2] == 0.0F);
        CHECK(std::isnan(y[4]));
        table->gelu_tanh_backward(y.data(), one.data(), x.data(), n);
        CHECK(y[0] == 0.0F);
        CHECK(y[1] == 1.0F);
        CHECK(y[3] == 0.5F);
        CHECK(std::isnan(y[4]));
        table->silu_mul_forward(y.data(), x.data(), one.data(), n);
        CHECK(y[0] == 0.0F);
        CHECK(y[1] == kHuge);
        CHECK(std::isnan(y[4]));
    }
}

TEST_CASE("an element's result does not depend on where in the array it stands") {
    // Ranks hold slices of the same parameters: an optimizer step must give each the same bits.
    const std::size_t n = 101;
    const std::vector<float> a = random(n, 1);
    const std::vector<float> b = random(n, 2);
    for (const VectorLoops* table : runnable_loops()) {
        CAPTURE(table->name);
        const auto parts = [&](const auto& call) {
            std::vector<float> whole = a;
            call(whole.data(), b.data(), static_cast<int64_t>(n));
            for (const std::size_t cut : {1U, 6U, 50U, 97U}) {
                std::vector<float> pieces = a;
                call(pieces.data(), b.data(), static_cast<int64_t>(cut));
                call(pieces.data() + cut, b.data() + cut, static_cast<int64_t>(n - cut));
                CHECK(pieces == whole);
            }
        };
        parts([&](float* x, const float* y, int64_t m) { table->exp(x, y, m); });
        parts([&](float* x, const float* y, int64_t m) { table->gelu_tanh_forward(x, y, m); });
        parts([&](float* x, const float* y, int64_t m) { table->gelu_tanh_backward(x, x, y, m); });
        parts([&](float* x, const float* y, int64_t m) { table->silu_mul_forward(x, x, y, m); });
        parts([&](float* x, const float* y, int64_t m) { table->axpy(x, 0.3F, y, m); });
        parts([&](float* x, const float* y, int64_t m) { table->scaled_exp(x, y, 0.3F, 0.7F, m); });
        AdamScalars scalars;
        scalars.decay = 0.01F;
        scalars.shrink = 0.999F;
        scalars.step_size = 0.01F;
        scalars.root_factor = 0.03F;
        parts([&](float* x, const float* y, int64_t m) {
            std::vector<float> first(static_cast<std::size_t>(m), 0.1F);
            std::vector<float> second(static_cast<std::size_t>(m), 0.2F);
            table->adam(x, y, first.data(), second.data(), scalars, m);
        });
    }
}

TEST_CASE("sums and maxima over every length") {
    const std::vector<float> a = random(300, 3);
    const std::vector<float> b = random(300, 4);
    for (const VectorLoops* table : runnable_loops()) {
        CAPTURE(table->name);
        for (std::size_t n = 0; n < a.size(); ++n) {
            CAPTURE(n);
            const auto count = static_cast<int64_t>(n);
            double dot = 0.0;
            double squares = 0.0;
            double exps = 0.0;
            float largest = -std::numeric_limits<float>::infinity();
            for (std::size_t i = 0; i < n; ++i) {
                dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
                squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
                exps += std::exp(static_cast<double>(a[i]) - 0.5);
                largest = std::max(largest, a[i]);
            }
            CHECK(table->dot(a.data(), b.data(), count) == Approx(dot).margin(1e-5));
            CHECK(table->sum_of_squares(a.data(), count) == Approx(squares).epsilon(1e-13));
            CHECK(table->largest(a.data(), count) == largest);
            CHECK(table->sum_of_exp(a.data(), 0.5F, count) == Approx(exps).epsilon(1e-6));
        }
    }
}

TEST_CASE("a row of a softmax forgets what stands behind what is seen") {
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    constexpr float kNoise = std::numeric_limits<float>::quiet_NaN();
    for (const VectorLoops* table : runnable_loops()) {
        for (const int64_t n : {16, 32, 48, 128}) {
            for (const int64_t seen :
                 {int64_t{0}, int64_t{1}, int64_t{15}, int64_t{16}, int64_t{17}, n - 1, n}) {
                if (seen > n) continue;
                INFO(table->name << " " << seen << " of " << n);
                const auto row = [&](uint64_t stream) {
                    std::vector<float> values(static_cast<std::size_t>(n) + 1, kNoise);
                    for (int64_t i = 0; i < seen; ++i)
                        values[static_cast<std::size_t>(i)] =
                            static_cast<float>(normal(5, stream, static_cast<uint64_t>(i)));
                    return values;
                };
                const std::vector<float> x = row(1), ds_before = row(2);
                float largest = kLowest;
                for (int64_t i = 0; i < seen; ++i)
                    largest = std::max(largest, x[static_cast<std::size_t>(i)]);
                for (const float floor : {kLowest, 0.25F, 9.0F}) {
                    std::vector<float> y = x;
                    float sum = -1.0F;
                    const float top = table->softmax_row(y.data(), floor, &sum, seen, n);
                    CHECK(top == std::max(floor, largest));
                    double expected = 0.0;
                    for (int64_t i = 0; i < n; ++i) {
                        const auto at = static_cast<std::size_t>(i);
                        const double e = i < seen ? std::exp(static_cast<double>(x[at] - top)) : 0.0;
                        CHECK(y[at] == Approx(e).epsilon(1e-6));
                        expected += e;
                    }
                    CHECK(sum == Approx(expected).epsilon(1e-6));
                    CHECK(std::isnan(y[static_cast<std::size_t>(n)]));  // not beyond the end
                }
                std::vector<float> p = x, ds = ds_before;
                table->softmax_backward(p.data(), ds.data(), 0.5F, 0.125F, 3.0F, seen, n);
                for (int64_t i = 0; i < n; ++i) {
                    const auto at = static_cast<std::size_t>(i);
                    const double e = i < seen ? std::exp(static_cast<double>(x[at]) - 0.5) : 0.0;
                    CHECK(p[at] == Approx(e).epsilon(1e-6));
                    const double slope =
                        i < seen ? e * (static_cast<double>(ds_before[at]) - 0.125) * 3.0 : 0.0;
                    CHECK(ds[at] == Approx(slope).epsilon(1e-5).margin(1e-6));
                }
                CHECK(std::isnan(p[static_cast<std::size_t>(n)]));
                CHECK(std::isnan(ds[static_cast<std::size_t>(n)]));
            }
        }
        // What was seen and is NaN shows.
        std::vector<float> bad(16, 1.0F);
        bad[3] = kNoise;
        float sum = 0.0F;
        table->softmax_row(bad.data(), kLowest, &sum, 16, 16);
        CHECK(std::isnan(sum));
    }
}

TEST_CASE("a small product is that of sums in double, whatever its tails and strides") {
    uint64_t stream = 0;
    const auto noise = [&](std::size_t n) {
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(normal(6, stream, i));
        ++stream;
        return values;
    };
    struct Size {
        int64_t m, n, k;
    };
    for (const VectorLoops* table : runnable_loops())
        for (const Size& size : {Size{1, 1, 1},
                                 {8, 16, 16},
                                 {32, 16, 32},
                                 {32, 32, 16},
                                 {9, 17, 5},
                                 {3, 15, 64},
                                 {13, 33, 7},
                                 {70, 64, 64},
                                 {5, 48, 31}})
            for (const bool transpose_a : {false, true})
                for (const bool transpose_b : {false, true})
                    for (const bool adds : {false, true}) {
                        const auto [m, n, k] = size;
                        INFO(table->name << " " << m << "x" << n << "x" << k << (transpose_a ? " aT" : "")
                                         << (transpose_b ? " bT" : "") << (adds ? " adds" : ""));
                        const int64_t a_stride = (transpose_a ? m : k) + 3,
                                      b_stride = (transpose_b ? k : n) + 5, c_stride = n + 7;
                        const auto a = noise(static_cast<std::size_t>(a_stride * (transpose_a ? k : m)));
                        const auto b = noise(static_cast<std::size_t>(b_stride * (transpose_b ? n : k)));
                        const auto before = noise(static_cast<std::size_t>(c_stride * m));
                        auto c = before;
                        table->small_product({transpose_a, transpose_b, adds, m, n, k, 0.5F, a.data(),
                                              a_stride, b.data(), b_stride, c.data(), c_stride});
                        double worst = 0.0;
                        for (int64_t i = 0; i < m; ++i)
                            for (int64_t j = 0; j < c_stride; ++j) {
                                const auto at = static_cast<std::size_t>(i * c_stride + j);
                                if (j >= n) {  // not beyond the row
                                    worst = std::max(worst, c[at] == before[at] ? 0.0 : 1.0);
                                    continue;
                                }
                                const double expected = 0.5 * element({a, a_stride, transpose_a},
                                                                      {b, b_stride, transpose_b}, i, j, k) +
                                                        (adds ? static_cast<double>(before[at]) : 0.0);
                                worst = std::max(worst, std::abs(static_cast<double>(c[at]) - expected));
                            }
                        CHECK(worst < 1e-6 * static_cast<double>(k + 4));
                    }
}
