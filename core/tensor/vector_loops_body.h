#pragma once

// The loops of core/tensor/vector_loops.h. Included by vector_baseline.cpp, vector_avx2.cpp and
// vector_avx512.cpp only: each compiles them for its own instruction set (see vector_lanes.h for why nothing
// here may have a shared name).

#include "core/tensor/vector_lanes.h"
#include "core/tensor/vector_loops.h"
#include "core/tensor/vector_product_body.h"

namespace meshscope::tensor {
namespace {

constexpr float kGeluScale = 0.7978845608028654F;  // √(2/π)
constexpr float kGeluCubic = 0.044715F;

void exp_loop(float* y, const float* x, int64_t n) {
    map(
        y, n, [](Floats v) { return exp(v); }, x);
}

void gelu_tanh_forward(float* y, const float* x, int64_t n) {
    // (1 + tanh u) / 2 is 1 / (1 + e^-2u), which needs no tanh and loses nothing where tanh nears -1.
    const auto gelu = [](Floats v) { return v * sigmoid(2.0F * kGeluScale * (v + kGeluCubic * v * v * v)); };
    map(y, n, gelu, x);
}

void gelu_tanh_backward(float* dx, const float* dy, const float* x, int64_t n) {
    const auto slope = [](Floats d, Floats v) {
        const Floats s = sigmoid(2.0F * kGeluScale * (v + kGeluCubic * v * v * v));
        const Floats inner = 2.0F * kGeluScale * (1.0F + 3.0F * kGeluCubic * v * v);
        return d * (s + v * s * (1.0F - s) * inner);
    };
    map(dx, n, slope, dy, x);
}

void silu_mul_forward(float* y, const float* gate, const float* up, int64_t n) {
    map(
        y, n, [](Floats g, Floats u) { return g * sigmoid(g) * u; }, gate, up);
}

void silu_mul_backward(float* dgate, float* dup, const float* dy, const float* gate, const float* up,
                       int64_t n) {
    // Both results of a vector are stored after all its inputs are read: any output may be any input.
    for (int64_t i = 0; i < n; i += kWidth) {
        const int64_t real = n - i < kWidth ? n - i : kWidth;
        const bool whole = real == kWidth;
        const Floats d = whole ? load(dy + i) : load_part(dy + i, real, 0.0F);
        const Floats g = whole ? load(gate + i) : load_part(gate + i, real, 0.0F);
        const Floats u = whole ? load(up + i) : load_part(up + i, real, 0.0F);
        const Floats s = sigmoid(g);
        const Floats for_gate = d * u * s * (1.0F + g * (1.0F - s));
        const Floats for_up = d * g * s;
        if (whole) {
            store(dup + i, for_up);
            store(dgate + i, for_gate);
        } else {
            store_part(dup + i, for_up, real);
            store_part(dgate + i, for_gate, real);
        }
    }
}

// As dtype.h has them for one number, which may not be included here; left to the compiler to vectorise.
void to_bfloat16_loop(uint16_t* __restrict y, const float* __restrict x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        uint32_t bits;
        __builtin_memcpy(&bits, x + i, sizeof bits);
        const uint32_t nearest = bits + 0x7FFFU + ((bits >> 16U) & 1U);
        const uint32_t quiet_nan = bits | 0x400000U;
        y[i] = static_cast<uint16_t>(((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest) >> 16U);
    }
}

void from_bfloat16_loop(float* __restrict y, const uint16_t* __restrict x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t bits = static_cast<uint32_t>(x[i]) << 16U;
        __builtin_memcpy(y + i, &bits, sizeof bits);
    }
}

void scale(float* x, float factor, int64_t n) {
    map(
        x, n, [factor](Floats v) { return v * factor; }, x);
}
void axpy(float* y, float a, const float* x, int64_t n) {
    map(
        y, n, [a](Floats u, Floats v) { return u + a * v; }, y, x);
}
void add(float* out, const float* a, const float* b, int64_t n) {
    map(
        out, n, [](Floats u, Floats v) { return u + v; }, a, b);
}
void multiply(float* out, const float* a, const float* b, int64_t n) {
    map(
        out, n, [](Floats u, Floats v) { return u * v; }, a, b);
}
void relu_forward(float* y, const float* x, int64_t n) {
    map(
        y, n, [](Floats v) { return v < 0.0F ? Floats{} : v; }, x);
}
void relu_backward(float* dx, const float* dy, const float* y, int64_t n) {
    map(
        dx, n, [](Floats d, Floats v) { return v > 0.0F ? d : Floats{}; }, dy, y);
}
void scaled_difference(float* out, float factor, const float* a, const float* b, int64_t n) {
    map(
        out, n, [factor](Floats u, Floats v) { return factor * (u - v); }, a, b);
}

/// Left to the compiler: the square root has no vector spelling, but it vectorises. The arrays are distinct.
void adam(float* __restrict value, const float* __restrict grad, float* __restrict m, float* __restrict v,
          const AdamScalars& scalars, int64_t n) {
    const AdamScalars s = scalars;
    for (int64_t i = 0; i < n; ++i) {
        const float g = grad[i] + s.decay * value[i];
        const float m_new = m[i] + s.share1 * (g - m[i]);
        const float v_new = s.beta2 * v[i] + s.share2 * g * g;
        m[i] = m_new;
        v[i] = v_new;
        value[i] =
            s.shrink * value[i] - s.step_size * (m_new / (__builtin_sqrtf(v_new) * s.root_factor + s.eps));
    }
}

/// Σ f(i) in double, element i in sum i mod 16, the sums added in halves.
template <class F>
inline __attribute__((always_inline)) double sum_in_double(int64_t n, const F& f) {
    double sums[16] = {};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int64_t lane = 0; lane < 16; ++lane) sums[lane] += f(i + lane);
    for (; i < n; ++i) sums[i % 16] += f(i);
    for (int64_t half = 8; half > 0; half /= 2)
        for (int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    return sums[0];
}

double sum_of_squares(const float* x, int64_t n) {
    return sum_in_double(n, [x](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}
double squared_distance(const float* a, const float* b, int64_t n) {
    return sum_in_double(n, [a, b](int64_t i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        return d * d;
    });
}

void add_rows(float* sums, const float* x, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) add(sums, sums, x + r * n, n);
}

float dot(const float* a, const float* b, int64_t n) {
    Sixteen acc(0.0F);
    fold(
        acc, n, 0.0F, [](Floats s, int64_t, int64_t, Floats u, Floats v) { return s + u * v; }, a, b);
    return acc.sum();
}

float largest(const float* x, int64_t n) {
    constexpr float kLowest = -__builtin_inff();
    Sixteen acc(kLowest);
    fold(
        acc, n, kLowest, [](Floats s, int64_t, int64_t, Floats v) { return larger(v, s); }, x);
    return acc.reduce(larger);
}

float softmax_row(float* x, float floor, float* sum, int64_t seen, int64_t n) {
    constexpr float kLowest = -__builtin_inff();
    Sixteen tops(floor);
    const int64_t looked_at = (seen + 15) / 16 * 16;
    for (int64_t i = 0; i < looked_at; i += 16)
        for (int64_t part = 0; part < Sixteen::kParts; ++part) {
            const int64_t at = i + part * kWidth;
            tops.parts[part] = larger(first_lanes(load(x + at), seen - at, kLowest), tops.parts[part]);
        }
    const float top = tops.reduce(larger);
    // Nothing seen: every score is -∞, and -∞ - (-∞) would be NaN.
    const float shift = top == kLowest ? 0.0F : top;
    Sixteen sums(0.0F);
    for (int64_t i = 0; i < looked_at; i += 16)
        for (int64_t part = 0; part < Sixteen::kParts; ++part) {
            const int64_t at = i + part * kWidth;
            const Floats e = first_lanes(exp(load(x + at) - shift), seen - at, 0.0F);
            store(x + at, e);
            sums.parts[part] = sums.parts[part] + e;
        }
    for (int64_t i = looked_at; i < n; i += kWidth) store(x + i, Floats{});
    *sum = sums.sum();
    return top;
}

float sum_of_exp(const float* x, float shift, int64_t n) {
    Sixteen acc(0.0F);
    fold(
        acc, n, -__builtin_inff(),
        [shift](Floats s, int64_t, int64_t, Floats v) { return s + exp(v - shift); }, x);
    return acc.sum();
}

void scaled_exp(float* y, const float* x, float shift, float factor, int64_t n) {
    map(
        y, n, [shift, factor](Floats v) { return factor * exp(v - shift); }, x);
}

void softmax_backward(float* p, float* ds, float shift, float delta, float factor, int64_t seen, int64_t n) {
    int64_t i = 0;
    for (; i < seen; i += kWidth) {
        const Floats e = first_lanes(exp(load(p + i) - shift), seen - i, 0.0F);
        store(p + i, e);
        store(ds + i, first_lanes(e * (load(ds + i) - delta) * factor, seen - i, 0.0F));
    }
    for (; i < n; i += kWidth) {
        store(p + i, Floats{});
        store(ds + i, Floats{});
    }
}

void norm_forward(float* y, float* mean, float* rstd, const float* x, const float* weight, const float* bias,
                  double eps, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
        float centre = 0.0F;
        if (mean != nullptr) {
            Sixteen sums(0.0F);
            fold(
                sums, n, 0.0F, [](Floats s, int64_t, int64_t, Floats v) { return s + v; }, x);
            centre = static_cast<float>(static_cast<double>(sums.sum()) / static_cast<double>(n));
            mean[r] = centre;
        }
        Sixteen squares(0.0F);
        // Padded with the mean itself, whose distance is 0.
        const auto square = [centre](Floats s, int64_t, int64_t, Floats v) {
            const Floats d = v - centre;
            return s + d * d;
        };
        fold(squares, n, centre, square, x);
        const double variance = static_cast<double>(squares.sum()) / static_cast<double>(n);
        const auto factor = static_cast<float>(1.0 / __builtin_sqrt(variance + eps));
        rstd[r] = factor;
        if (bias == nullptr) {
            map(
                y, n, [=](Floats v, Floats w) { return (v - centre) * factor * w; }, x, weight);
        } else {
            map(
                y, n, [=](Floats v, Floats w, Floats b) { return (v - centre) * factor * w + b; }, x, weight,
                bias);
        }
    }
}

void norm_input_grad(float* dx, const float* dy, const float* x, const float* mean, const float* rstd,
                     const float* weight, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, dx += n, dy += n, x += n) {
        const float centre = mean == nullptr ? 0.0F : mean[r];
        const float factor = rstd[r];
        Sixteen products(0.0F);
        const auto product = [centre](Floats s, int64_t, int64_t, Floats d, Floats v, Floats w) {
            return s + d * w * (v - centre);
        };
        fold(products, n, 0.0F, product, dy, x, weight);
        // mean(g·h) · h, with both rstd of the two h in one factor.
        const float of_h = products.sum() / static_cast<float>(n) * factor * factor;
        const float of_g = mean == nullptr ? 0.0F : dot(dy, weight, n) / static_cast<float>(n);
        const auto grad = [=](Floats d, Floats v, Floats w) {
            return factor * (d * w - of_g - (v - centre) * of_h);
        };
        map(dx, n, grad, dy, x, weight);
    }
}

void norm_weight_grad(float* dw, float* db, const float* dy, const float* x, const float* mean,
                      const float* rstd, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r, dy += n, x += n) {
        const float centre = mean == nullptr ? 0.0F : mean[r];
        const float factor = rstd[r];
        const auto grad = [=](Floats sum, Floats d, Floats v) { return sum + d * ((v - centre) * factor); };
        map(dw, n, grad, dw, dy, x);
        if (db != nullptr) add(db, db, dy, n);
    }
}

void rotate(float* out, const float* in, const float* cosines, const float* sines, int64_t heads, int64_t n) {
    for (int64_t h = 0; h < heads; ++h, in += n, out += n)
        for (int64_t i = 0; i < n / 2; ++i) {
            const float a = in[2 * i];
            const float b = in[2 * i + 1];
            out[2 * i] = a * cosines[i] - b * sines[i];
            out[2 * i + 1] = a * sines[i] + b * cosines[i];
        }
}

void rotate_halves(float* out, const float* in, const float* cosines, const float* sines, int64_t heads,
                   int64_t n) {
    for (int64_t h = 0; h < heads; ++h, in += n, out += n)
        for (int64_t i = 0; i < n / 2; ++i) {
            const float a = in[i];
            const float b = in[i + n / 2];
            out[i] = a * cosines[i] - b * sines[i];
            out[i + n / 2] = a * sines[i] + b * cosines[i];
        }
}

constexpr VectorLoops make_loops(const char* name) {
    return {.name = name,
            .exp = exp_loop,
            .gelu_tanh_forward = gelu_tanh_forward,
            .gelu_tanh_backward = gelu_tanh_backward,
            .silu_mul_forward = silu_mul_forward,
            .silu_mul_backward = silu_mul_backward,
            .to_bfloat16 = to_bfloat16_loop,
            .from_bfloat16 = from_bfloat16_loop,
            .scale = scale,
            .axpy = axpy,
            .add = add,
            .multiply = multiply,
            .relu_forward = relu_forward,
            .relu_backward = relu_backward,
            .scaled_difference = scaled_difference,
            .adam = adam,
            .sum_of_squares = sum_of_squares,
            .squared_distance = squared_distance,
            .add_rows = add_rows,
            .dot = dot,
            .largest = largest,
            .softmax_row = softmax_row,
            .sum_of_exp = sum_of_exp,
            .scaled_exp = scaled_exp,
            .softmax_backward = softmax_backward,
            .norm_forward = norm_forward,
            .norm_input_grad = norm_input_grad,
            .norm_weight_grad = norm_weight_grad,
            .small_product = small_product,
            .rotate = rotate,
            .rotate_halves = rotate_halves};
}

}  // namespace
}  // namespace meshscope::tensor
