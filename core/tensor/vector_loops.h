#pragma once

#include <cstdint>

#include "core/tensor/blas.h"

namespace meshscope::tensor {

/// The scalars of an Adam step, as the loop over elements uses them.
struct AdamScalars {
    float decay = 0.0F;        ///< added to the gradient as decay · value
    float shrink = 1.0F;       ///< AdamW: the value's factor
    float share1 = 0.1F;       ///< 1 - β1
    float beta2 = 0.999F;      ///< β2
    float share2 = 0.001F;     ///< 1 - β2
    float step_size = 0.0F;    ///< lr / (1 - β1ᵗ)
    float root_factor = 1.0F;  ///< 1 / √(1 - β2ᵗ): a division less an element, of which there are two
    float eps = 1e-8F;
};

/// C (m, n) = alpha · op(A) · op(B), added to C where `adds`; op and strides as block_product() has them.
struct SmallProduct {
    /// k · (n rounded up to 32) at most.
    static constexpr int64_t kMostPacked = 4096;

    bool transpose_a = false, transpose_b = false;
    bool adds = false;
    int64_t m = 0, n = 0, k = 0;
    float alpha = 1.0F;
    const float* a = nullptr;
    int64_t a_stride = 0;
    const float* b = nullptr;
    int64_t b_stride = 0;
    float* c = nullptr;
    int64_t c_stride = 0;
    Lower lower = {};
};

/// The loops of the CPU kernels that are not large matrix products, over plain arrays: `n` elements, or
/// `rows` rows of `n`, dense. One table for each instruction set the program carries; loops() takes the best
/// that this machine has, so one binary runs everywhere. Nothing is checked here.
///
/// Sums over a row are 16 interleaved float32 sums (element i belongs to sum i mod 16), which are then added
/// in halves: the order does not depend on the machine, only whether products are fused into sums does. An
/// element's result does not depend on where in the array it stands.
struct VectorLoops {
    const char* name;  ///< "avx512", "avx2" or "baseline"

    /// y = eˣ within 1.1 ulp (over all floats; gradual underflow, overflow to ∞, NaN stays).
    void (*exp)(float* y, const float* x, int64_t n);
    /// gelu by tanh, within 1.2e-7 · (1 + |y|) of the exact value; the slope within 1.2e-7 · (1 + x²).
    void (*gelu_tanh_forward)(float* y, const float* x, int64_t n);
    void (*gelu_tanh_backward)(float* dx, const float* dy, const float* x, int64_t n);
    /// Within 2.5 ulp of the exact value where gate > -10; the slope within 1.2e-7 · (1 + |gate|).
    void (*silu_mul_forward)(float* y, const float* gate, const float* up, int64_t n);
    void (*silu_mul_backward)(float* dgate, float* dup, const float* dy, const float* gate, const float* up,
                              int64_t n);

    /// Nearest bfloat16, ties to even, a NaN stays one; and back, exactly.
    void (*to_bfloat16)(uint16_t* y, const float* x, int64_t n);
    void (*from_bfloat16)(float* y, const uint16_t* x, int64_t n);

    void (*scale)(float* x, float factor, int64_t n);
    void (*axpy)(float* y, float a, const float* x, int64_t n);
    void (*add)(float* out, const float* a, const float* b, int64_t n);
    void (*multiply)(float* out, const float* a, const float* b, int64_t n);
    void (*relu_forward)(float* y, const float* x, int64_t n);
    void (*relu_backward)(float* dx, const float* dy, const float* y, int64_t n);
    /// out = factor · (a - b).
    void (*scaled_difference)(float* out, float factor, const float* a, const float* b, int64_t n);
    void (*adam)(float* value, const float* grad, float* m, float* v, const AdamScalars& s, int64_t n);
    /// Σ x² as 16 interleaved double sums, added in halves.
    double (*sum_of_squares)(const float* x, int64_t n);
    double (*squared_distance)(const float* a, const float* b, int64_t n);
    /// sums[i] += the sum of column i, first row first.
    void (*add_rows)(float* sums, const float* x, int64_t rows, int64_t n);

    float (*dot)(const float* a, const float* b, int64_t n);
    /// The largest; -∞ of nothing. A NaN may be passed over.
    float (*largest)(const float* x, int64_t n);
    /// x[0 … seen) ← e^(x - top), x[seen … n) ← 0, *sum their sum, and returns top, the largest of `floor`
    /// and what is seen; where that is -∞, e^x. n is a multiple of 16; what stands behind `seen` may be
    /// anything.
    float (*softmax_row)(float* x, float floor, float* sum, int64_t seen, int64_t n);
    /// Σ e^(x - shift).
    float (*sum_of_exp)(const float* x, float shift, int64_t n);
    /// y = factor · e^(x - shift). y may be x.
    void (*scaled_exp)(float* y, const float* x, float shift, float factor, int64_t n);
    /// p ← e^(p - shift); ds ← p · (ds - delta) · scale, of the first `seen`; 0 behind them. n as above.
    void (*softmax_backward)(float* p, float* ds, float shift, float delta, float scale, int64_t seen,
                             int64_t n);

    /// `bias` may be null. `mean` null: RMS norm.
    void (*norm_forward)(float* y, float* mean, float* rstd, const float* x, const float* weight,
                         const float* bias, double eps, int64_t rows, int64_t n);
    void (*norm_input_grad)(float* dx, const float* dy, const float* x, const float* mean, const float* rstd,
                            const float* weight, int64_t rows, int64_t n);
    /// dw += …; `db` may be null, `mean` null: RMS norm.
    void (*norm_weight_grad)(float* dw, float* db, const float* dy, const float* x, const float* mean,
                             const float* rstd, int64_t rows, int64_t n);
    /// A product too small to be worth a library's call. Sums along k from the first.
    void (*small_product)(const SmallProduct& product);
    /// Turns the pairs of `heads` heads of n elements by the angles with these n/2 cosines and sines.
    void (*rotate)(float* out, const float* in, const float* cosines, const float* sines, int64_t heads,
                   int64_t n);
    /// The same, element i paired with i + n/2 and not 2i with 2i + 1.
    void (*rotate_halves)(float* out, const float* in, const float* cosines, const float* sines,
                          int64_t heads, int64_t n);
};

/// What every machine of the architecture runs.
const VectorLoops& loops_baseline();
/// With AVX2 and FMA, with AVX-512; only in x86-64 builds.
const VectorLoops& loops_avx2();
const VectorLoops& loops_avx512();
/// The best table of this machine, chosen at the first call.
const VectorLoops& loops();

}  // namespace meshscope::tensor
