#pragma once

// Vectors of floats as GCC and Clang have them on every architecture, and what the loops need of them.
//
// Included by the files that are compiled once for each instruction set, and by no other. Everything here is
// in an unnamed namespace and nothing of the standard library is used: an inline function compiled twice
// under one name would leave the linker to choose, and a machine without AVX2 could be given AVX2 code.

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace meshscope::tensor {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kWidth = 16;
constexpr __mmask16 kEvery = 0xFFFF;  // the forms without a mask warn of their own unset register in GCC 12
#elif defined(__AVX2__)
constexpr int64_t kWidth = 8;
#else
constexpr int64_t kWidth = 4;
#endif
typedef float Floats __attribute__((vector_size(kWidth * 4)));
typedef int32_t Ints __attribute__((vector_size(kWidth * 4)));

inline __attribute__((always_inline)) Floats load(const float* from) {
    Floats v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}
inline __attribute__((always_inline)) void store(float* to, Floats v) {
    __builtin_memcpy(to, &v, sizeof v);
}
inline __attribute__((always_inline)) Floats load_part(const float* from, int64_t n, float rest) {
    float lanes[kWidth];
    for (int64_t i = 0; i < kWidth; ++i) lanes[i] = i < n ? from[i] : rest;
    return load(lanes);
}
inline __attribute__((always_inline)) void store_part(float* to, Floats v, int64_t n) {
    float lanes[kWidth];
    store(lanes, v);
    for (int64_t i = 0; i < n; ++i) to[i] = lanes[i];
}
inline __attribute__((always_inline)) Floats all(float x) {
    return x - Floats{};  // the compiler drops "- 0", but must not drop "+ 0", which makes 0 of -0
}
/// The first n lanes of v, the others `rest`.
inline __attribute__((always_inline)) Floats first_lanes(Floats v, int64_t n, float rest) {
    Ints lane;
    for (int32_t i = 0; i < kWidth; ++i) lane[i] = i;
    return lane < static_cast<int32_t>(n < kWidth ? n : kWidth) ? v : all(rest);
}
/// Lane i of the result is lane i + kStep of v, and so on around. In registers: through memory it would take
/// the processor three times as long.
template <int kStep>
inline __attribute__((always_inline)) Floats lanes_from(Floats v) {
#if defined(__AVX512F__)
    return __builtin_shufflevector(v, v, kStep, kStep + 1, kStep + 2, kStep + 3, kStep + 4, kStep + 5,
                                   kStep + 6, kStep + 7, kStep + 8, kStep + 9, kStep + 10, kStep + 11,
                                   kStep + 12, kStep + 13, kStep + 14, kStep + 15);
#elif defined(__AVX2__)
    return __builtin_shufflevector(v, v, kStep, kStep + 1, kStep + 2, kStep + 3, kStep + 4, kStep + 5,
                                   kStep + 6, kStep + 7);
#else
    return __builtin_shufflevector(v, v, kStep, kStep + 1, kStep + 2, kStep + 3);
#endif
}
/// NaN where b is NaN.
inline __attribute__((always_inline)) Floats larger(Floats a, Floats b) {
    return a > b ? a : b;
}
inline __attribute__((always_inline)) Floats smaller(Floats a, Floats b) {
    return a < b ? a : b;
}
/// 2ⁿ for n in [-126, 127], written into the exponent's bits.
inline __attribute__((always_inline)) Floats power_of_two(Ints n) {
    return (Floats)((n + 127) << 23);
}

/// eˣ: x = n·ln 2 + r with |r| ≤ ln 2 / 2, a polynomial of degree 6 for eʳ (Cephes' expf), times 2ⁿ. Results
/// below 2^-126 lose bits gradually.
inline __attribute__((always_inline)) Floats exp(Floats x) {
    constexpr float kRound = 12582912.0F;  // 1.5 · 2²³: adding it rounds to a whole number, in the low bits
    x = larger(all(-104.0F), smaller(all(89.0F), x));
    const Floats shifted = x * 1.44269504088896341F + kRound;
    const Floats whole = shifted - kRound;
    // ln 2 in two parts: the first has few bits, so its product with n is exact.
    const Floats r = x - whole * 0.693359375F - whole * -2.12194440e-4F;
    Floats p = all(1.9875691500e-4F);
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r + 1.0F;
#if defined(__AVX512F__)
    return (Floats)_mm512_maskz_scalef_ps(kEvery, (__m512)p, (__m512)whole);
#else
    const Ints n = (Ints)shifted - (Ints)all(kRound);
    const Ints half = n >> 1;  // in two steps: 2ⁿ itself may be too small for a float
    return p * power_of_two(half) * power_of_two(n - half);
#endif
}

/// 1 / (1 + e^-x).
inline __attribute__((always_inline)) Floats sigmoid(Floats x) {
    return 1.0F / (1.0F + exp(-x));
}

/// out[i] = f(in₁[i], …) for n elements; the last few are padded to a whole vector, so each element is
/// computed in the same way wherever it stands.
template <class F, class... In>
inline __attribute__((always_inline)) void map(float* out, int64_t n, const F& f, const In*... in) {
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) store(out + i, f(load(in + i)...));
    if (i < n) store_part(out + i, f(load_part(in + i, n - i, 0.0F)...), n - i);
}

/// 16 sums (or maxima) side by side; element i belongs to number i mod 16.
struct Sixteen {
    static constexpr int64_t kParts = 16 / kWidth;
    Floats parts[kParts];

    explicit Sixteen(float start) {
        for (Floats& part : parts) part = all(start);
    }
    /// Combined in halves: 16 → 8 → 4 → 2 → 1.
    template <class Join>
    float reduce(const Join& join) const {
        Floats all_parts[kParts];
        for (int64_t i = 0; i < kParts; ++i) all_parts[i] = parts[i];
        for (int64_t half = kParts / 2; half > 0; half /= 2)
            for (int64_t i = 0; i < half; ++i) all_parts[i] = join(all_parts[i], all_parts[i + half]);
        Floats v = all_parts[0];
        if constexpr (kWidth > 8) v = join(v, lanes_from<8 % kWidth>(v));
        if constexpr (kWidth > 4) v = join(v, lanes_from<4 % kWidth>(v));
        v = join(v, lanes_from<2>(v));
        return join(v, lanes_from<1>(v))[0];
    }
    float sum() const {
        return reduce([](Floats a, Floats b) { return a + b; });
    }
};

/// Takes part in the sums of `acc`: acc ← step(acc, i, vector of in₁, …), where padding of `rest` fills the
/// last vectors. step's second argument says how many lanes are real.
template <class Step, class... In>
inline __attribute__((always_inline)) void fold(Sixteen& acc, int64_t n, float rest, const Step& step,
                                                const In*... in) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int64_t part = 0; part < Sixteen::kParts; ++part) {
            const int64_t at = i + part * kWidth;
            acc.parts[part] = step(acc.parts[part], at, kWidth, load(in + at)...);
        }
    for (int64_t part = 0; i < n; ++part, i += kWidth) {
        const int64_t real = n - i < kWidth ? n - i : kWidth;
        acc.parts[part] = step(acc.parts[part], i, real, load_part(in + i, real, rest)...);
    }
}

}  // namespace
}  // namespace meshscope::tensor
