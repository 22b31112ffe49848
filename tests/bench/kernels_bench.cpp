// How long the CPU kernels take for one training step of a gpt, on one core.
//
//   kernels_bench [dim layers hidden heads seq vocab batch]      (default 256 4 1024 8 128 1024 8)
//
// Prints a JSON line {"kernel","shape","us","gflops","per_step","ms_per_step"} for each kernel (us is the
// median of one call in processor time, per_step how often a step calls it), and at the end the matrix
// products' time against everything else's.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/tensor/blas.h"
#include "core/tensor/device.h"
#include "core/tensor/kernels.h"
#include "core/tensor/vector_loops.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

struct Sizes {
    int64_t dim = 256, layers = 4, hidden = 1024, heads = 8, seq = 128, vocab = 1024, batch = 8;
};

/// This thread's own processor time: other programs on the machine do not count (their use of the caches
/// does).
double processor_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// The median of repeated calls, in microseconds: at least 11 and at least 60 ms of them.
double median_us(const std::function<void()>& call) {
    call();
    std::vector<double> times;
    const double begin = processor_us();
    while (times.size() < 11 || processor_us() - begin < 60e3) {
        const double start = processor_us();
        call();
        times.push_back(processor_us() - start);
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

class Bench {
  public:
    explicit Bench(const Sizes& sizes) : s_(sizes) {}

    void run();

  private:
    Tensor random(Shape shape) {
        Tensor t = allocator_.empty(std::move(shape), DType::float32, MemoryCategory::temporaries, "t");
        uint64_t position = 0;
        for (float& x : t.data<float>()) x = static_cast<float>(normal(1, stream_, position++));
        ++stream_;
        return t;
    }
    /// Measures one kernel; `product` says that its time belongs to the matrix products.
    void measure(const std::string& kernel, const std::string& shape, double flops, int64_t per_step,
                 bool product, const std::function<void()>& call) {
        const double us = median_us(call);
        const double ms = us * static_cast<double>(per_step) / 1e3;
        (product ? products_ms_ : rest_ms_) += ms;
        std::printf(
            "{\"kernel\":\"%s\",\"shape\":\"%s\",\"us\":%.1f,\"gflops\":%.1f,\"per_step\":%lld,"
            "\"ms_per_step\":%.2f}\n",
            kernel.c_str(), shape.c_str(), us, flops / us / 1e3, static_cast<long long>(per_step), ms);
    }
    void linear(int64_t inputs, int64_t outputs, int64_t per_step);
    void attention();
    void norms();
    void elements();

    Sizes s_;
    std::unique_ptr<Device> device_ = make_cpu_device();
    const Kernels& k_ = device_->kernels();
    Allocator allocator_{*device_};
    uint64_t stream_ = 0;
    double products_ms_ = 0.0;
    double rest_ms_ = 0.0;
};

void Bench::linear(int64_t inputs, int64_t outputs, int64_t per_step) {
    const int64_t rows = s_.batch * s_.seq;
    const Tensor x = random({rows, inputs});
    const Tensor y = random({rows, outputs});
    const Tensor w = random({outputs, inputs});
    const double flops = 2.0 * static_cast<double>(rows * inputs * outputs);
    const std::string shape =
        std::to_string(rows) + "x" + std::to_string(inputs) + "x" + std::to_string(outputs);
    measure("linear_forward", shape, flops, per_step, true, [&] { k_.linear_forward(y, x, w, Tensor()); });
    measure("linear_input_grad", shape, flops, per_step, true, [&] { k_.linear_input_grad(x, y, w); });
    measure("linear_weight_grad", shape, flops, per_step, true,
            [&] { k_.linear_weight_grad(w, y, x, false); });
}

void Bench::attention() {
    AttentionShape shape;
    shape.batch = s_.batch;
    shape.q_tokens = shape.k_tokens = s_.seq;
    shape.heads = shape.kv_heads = s_.heads;
    shape.head_dim = s_.dim / s_.heads;
    shape.scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
    const Shape full{s_.batch, s_.seq, s_.dim};
    const Tensor q = random(full), k = random(full), v = random(full), o = random(full), dout = random(full);
    const Tensor dq = random(full), dk = random(full), dv = random(full);
    const Tensor lse = random({s_.batch, s_.heads, s_.seq});
    const std::string name = std::to_string(s_.batch * s_.heads) + "x" + std::to_string(s_.seq) + "x" +
                             std::to_string(s_.seq) + "x" + std::to_string(shape.head_dim);
    const double product = 2.0 * static_cast<double>(s_.batch * s_.seq * s_.seq * s_.dim);
    measure("attention_forward", name, product, s_.layers, false,
            [&] { k_.attention_forward(o, lse, q, k, v, shape); });
    measure("attention_backward", name, 2.5 * product, s_.layers, false,
            [&] { k_.attention_backward(dq, dk, dv, dout, q, k, v, o, lse, shape); });
    // The products that attention is made of, whole and unmasked, a head at a time: what a plain
    // implementation would ask of the matrix library.
    const int64_t n = shape.head_dim, t = s_.seq, stride = s_.dim;
    std::vector<float> scores(static_cast<std::size_t>(t * t));
    const auto heads = [&](const auto& call) {
        return [&, call] {
            for (int64_t b = 0; b < s_.batch; ++b)
                for (int64_t h = 0; h < s_.heads; ++h) call(b * t * stride + h * n);
        };
    };
    const auto at = [](const Tensor& x, int64_t offset) { return x.data<float>().data() + offset; };
    measure("(q·kT alone)", name, product, 3 * s_.layers, true, heads([&](int64_t i) {
                block_product(false, true, t, t, n, 1.0F, {at(q, i), stride}, {at(k, i), stride}, 0.0F,
                              scores.data(), t);
            }));
    measure("(p·v alone)", name, product, 2 * s_.layers, true, heads([&](int64_t i) {
                block_product(false, false, t, n, t, 1.0F, {scores.data(), t}, {at(v, i), stride}, 0.0F,
                              o.data<float>().data() + i, stride);
            }));
    measure("(pT·dout alone)", name, product, 2 * s_.layers, true, heads([&](int64_t i) {
                block_product(true, false, t, n, t, 1.0F, {scores.data(), t}, {at(dout, i), stride}, 0.0F,
                              dv.data<float>().data() + i, stride);
            }));
}

void Bench::norms() {
    const int64_t rows = s_.batch * s_.seq;
    const Tensor x = random({rows, s_.dim}), y = random({rows, s_.dim}), w = random({s_.dim});
    const Tensor b = random({s_.dim}), mean = random({rows}), rstd = random({rows});
    const std::string shape = std::to_string(rows) + "x" + std::to_string(s_.dim);
    const auto n = static_cast<double>(rows * s_.dim);
    const int64_t times = 2 * s_.layers + 1;
    measure("layer_norm_forward", shape, 8 * n, times, false,
            [&] { k_.layer_norm_forward(y, mean, rstd, x, w, b, 1e-5); });
    measure("layer_norm_input_grad", shape, 12 * n, times, false,
            [&] { k_.layer_norm_input_grad(y, y, x, mean, rstd, w); });
    measure("layer_norm_weight_grad", shape, 5 * n, times, false,
            [&] { k_.layer_norm_weight_grad(w, b, y, x, mean, rstd, false); });
    measure("rms_norm_forward", shape, 4 * n, 0, false, [&] { k_.rms_norm_forward(y, rstd, x, w, 1e-5); });
    measure("rms_norm_input_grad", shape, 8 * n, 0, false, [&] { k_.rms_norm_input_grad(y, y, x, rstd, w); });
    RotaryShape turn;
    turn.batch = s_.batch;
    turn.tokens = s_.seq;
    turn.heads = s_.heads;
    turn.head_dim = s_.dim / s_.heads;
    measure("rotary", shape, 3 * n, 0, false, [&] { k_.rotary(y, x, turn, false); });

    const Tensor logits = random({rows, s_.vocab}), dlogits = random({rows, s_.vocab});
    const Tensor loss = random({1}), lse = random({rows}), table = random({s_.vocab, s_.dim});
    Tensor tokens = allocator_.empty({rows}, DType::int64, MemoryCategory::temporaries, "t");
    for (int64_t i = 0; i < rows; ++i)
        tokens.data<int64_t>()[static_cast<std::size_t>(i)] = i * 7919 % s_.vocab;
    const std::string out = std::to_string(rows) + "x" + std::to_string(s_.vocab);
    const auto m = static_cast<double>(rows * s_.vocab);
    measure("cross_entropy_forward", out, 3 * m, 1, false,
            [&] { k_.cross_entropy_forward(loss, lse, logits, tokens, static_cast<double>(rows)); });
    measure("cross_entropy_backward", out, 3 * m, 1, false, [&] {
        k_.cross_entropy_backward(dlogits, loss, logits, lse, tokens, static_cast<double>(rows));
    });
    measure("embedding_forward", shape, 0, 2, false, [&] { k_.embedding_forward(y, table, tokens); });
    measure("embedding_backward", shape, n, 2, false,
            [&] { k_.embedding_backward(table, y, tokens, false); });
}

void Bench::elements() {
    const int64_t rows = s_.batch * s_.seq;
    const Tensor h = random({rows, s_.hidden}), g = random({rows, s_.hidden}), d = random({rows, s_.hidden});
    const std::string wide = std::to_string(rows) + "x" + std::to_string(s_.hidden);
    const auto n = static_cast<double>(rows * s_.hidden);
    measure("gelu_tanh_forward", wide, 20 * n, s_.layers, false, [&] { k_.gelu_tanh_forward(g, h); });
    measure("gelu_tanh_backward", wide, 30 * n, s_.layers, false, [&] { k_.gelu_tanh_backward(d, g, h); });
    measure("silu_mul_forward", wide, 18 * n, 0, false, [&] { k_.silu_mul_forward(d, g, h); });
    // Into tensors of its own: gradients that are their own inputs soon are too small for full speed.
    const Tensor dg = random({rows, s_.hidden}), dh = random({rows, s_.hidden});
    measure("silu_mul_backward", wide, 25 * n, 0, false, [&] { k_.silu_mul_backward(dg, dh, d, g, h); });
    measure("relu_forward", wide, n, 0, false, [&] { k_.relu_forward(g, h); });
    const Tensor x = random({rows, s_.dim}), y = random({rows, s_.dim});
    const std::string narrow = std::to_string(rows) + "x" + std::to_string(s_.dim);
    // Forward: two residuals a layer and the positions; backward: as many, and q, k and v's shares.
    measure("add", narrow, n, 6 * s_.layers + 1, false, [&] { k_.add(y, x, y); });

    const int64_t parameters =
        s_.layers * (4 * s_.dim * s_.dim + 2 * s_.dim * s_.hidden) + s_.dim * (2 * s_.vocab + s_.seq);
    const Tensor value = random({parameters}), grad = random({parameters});
    const Tensor m = allocator_.zeros({parameters}, DType::float32, MemoryCategory::temporaries, "t");
    const Tensor v = allocator_.zeros({parameters}, DType::float32, MemoryCategory::temporaries, "t");
    const std::string all = std::to_string(parameters);
    const auto p = static_cast<double>(parameters);
    measure("adam_step", all, 14 * p, 1, false, [&] {
        AdamStep step;
        step.decoupled = true;
        k_.adam_step(value, grad, m, v, step);
    });
    measure("sgd_step", all, 4 * p, 0, false, [&] { k_.sgd_step(value, grad, m, {0.1, 0.9, 0.0, false}); });
    measure("sum_of_squares", all, 2 * p, 0, false, [&] { static_cast<void>(k_.sum_of_squares(grad)); });
    measure("axpy", all, 2 * p, 0, false, [&] { k_.axpy(value, 0.1F, grad); });
    const Tensor half = allocator_.empty({parameters}, DType::bfloat16, MemoryCategory::temporaries, "t");
    measure("cast_to_bfloat16", all, p, 0, false, [&] { k_.cast(half, grad); });
    measure("cast_to_float32", all, p, 0, false, [&] { k_.cast(grad, half); });
}

void Bench::run() {
    linear(s_.dim, s_.dim, 4 * s_.layers);
    linear(s_.dim, s_.hidden, s_.layers);
    linear(s_.hidden, s_.dim, s_.layers);
    linear(s_.dim, s_.vocab, 1);
    const double linear_ms = products_ms_;
    attention();
    const double attention_ms = rest_ms_;
    norms();
    elements();
    const double plain_ms = products_ms_;
    std::printf(
        "{\"loops\":\"%s\",\"products\":\"%s\",\"linear_ms\":%.1f,\"attention_products_ms\":%.1f,"
        "\"attention_ms\":%.1f,\"other_ms\":%.1f,\"step_over_products\":%.3f}\n",
        loops().name, std::string(matrix_product_library()).c_str(), linear_ms, plain_ms - linear_ms,
        attention_ms, rest_ms_ - attention_ms, (linear_ms + rest_ms_) / plain_ms);
}

}  // namespace

int main(int argc, char** argv) {
    Sizes sizes;
    int64_t* const fields[] = {&sizes.dim, &sizes.layers, &sizes.hidden, &sizes.heads,
                               &sizes.seq, &sizes.vocab,  &sizes.batch};
    for (int i = 1; i < argc && i <= 7; ++i) *fields[i - 1] = std::max(1LL, std::atoll(argv[i]));
    Bench(sizes).run();
    return 0;
}
