// Kernels on bfloat16: sums in float32, one rounding (two where PyTorch has two operations).
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/tensor/kernel_pair.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

struct HalfPair : Pair {
    Tensor half(const Tensor& from) {
        Tensor t = allocator.empty(from.shape(), DType::bfloat16, MemoryCategory::temporaries, "half");
        plain.cast(t, from);
        return t;
    }
    Tensor random_half(Shape shape) { return half(random(std::move(shape))); }
    Tensor half_of(const std::vector<float>& values, Shape shape) {
        return half(of(values, std::move(shape)));
    }
    Tensor wide(const Tensor& from) {
        Tensor t = allocator.empty(from.shape(), DType::float32, MemoryCategory::temporaries, "wide");
        plain.cast(t, from);
        return t;
    }
    /// Fast and naive kernels may round to two neighbours, 2^-8 apart, where a result lies between; sums
    /// whose terms cancel are compared with the terms' size (`margin`).
    void agree(const std::vector<Shape>& outs,
               const std::function<void(const Kernels&, const std::vector<Tensor>&)>& call) {
        std::vector<Tensor> start;
        for (const Shape& shape : outs) start.push_back(random_half(shape));
        std::vector<std::vector<Tensor>> results;
        for (const Kernels* k : {&fast, &plain}) {
            results.emplace_back();
            for (const Tensor& t : start) results.back().push_back(copy(t));
            call(*k, results.back());
        }
        for (std::size_t i = 0; i < outs.size(); ++i) {
            CAPTURE(i);
            CHECK(distance(wide(results[0][i]), wide(results[1][i])) <= 1.0 / 256);
        }
    }
};

float bf16(double x) {
    return from_bfloat16(to_bfloat16(static_cast<float>(x)));
}
double silu(double x) {
    return x / (1.0 + std::exp(-x));
}

}  // namespace

TEST_CASE("sums of bfloat16 products are float32 sums, rounded once") {
    HalfPair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        // 1000 ones: sums kept in bfloat16 would stay at 256.
        const Tensor ones = p.half_of(std::vector<float>(1000, 1.0F), {1, 1000});
        const Tensor y = p.random_half({1, 1});
        k->linear_forward(y, ones, ones, Tensor());
        CHECK(p.wide(y).data<float>()[0] == 1000.0F);
        const Tensor db = p.random_half({1});
        k->linear_bias_grad(db, ones.view({1000, 1}), false);
        CHECK(p.wide(db).data<float>()[0] == 1000.0F);
        // 1 + 2^-8 lies between two bfloat16 numbers and goes to the even one; so does 3 · 2^-8 + 1.
        const Tensor sum = p.random_half({2});
        k->add(sum, p.half_of({1, 1}, {2}), p.half_of({1.0F / 256, 3.0F / 256}, {2}));
        CHECK(p.wide(sum).data<float>()[0] == 1.0F);
        CHECK(p.wide(sum).data<float>()[1] == 1.0F + 4.0F / 256);
    }
}

TEST_CASE("a bfloat16 gradient is rounded before it is added to another, as PyTorch does") {
    HalfPair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        // 1 + 2^-8 → 1; 256 + 1 lies between 256 and 258 → 256. Rounded once it would be 258.
        const Tensor dw = p.half_of({256}, {1, 1});
        k->linear_weight_grad(dw, p.half_of({1, 1}, {2, 1}), p.half_of({1, 1.0F / 256}, {2, 1}), true);
        CHECK(p.wide(dw).data<float>()[0] == 256.0F);
        const Tensor db = p.half_of({256}, {1});
        k->linear_bias_grad(db, p.half_of({1, 1.0F / 256}, {2, 1}), true);
        CHECK(p.wide(db).data<float>()[0] == 256.0F);
    }
}

TEST_CASE("bfloat16 activations equal their formulas, rounded") {
    HalfPair p;
    const int64_t n = 257;
    const Tensor gate = p.random_half({n});
    const Tensor up = p.random_half({n});
    const Tensor dy = p.random_half({n});
    const Tensor y = p.random_half({n});
    const Tensor dgate = p.random_half({n});
    const Tensor dup = p.random_half({n});
    const Tensor gelu = p.random_half({n});
    for (const Kernels* k : {&p.fast, &p.plain}) {
        k->silu_mul_forward(y, gate, up);
        k->silu_mul_backward(dgate, dup, dy, gate, up);
        k->gelu_tanh_forward(gelu, gate);
        int64_t different = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            const auto at = [i](const Tensor& t) {
                return static_cast<double>(from_bfloat16(t.data<uint16_t>()[i]));
            };
            const double g = at(gate);
            const auto s = static_cast<double>(bf16(silu(g)));
            const auto ds = static_cast<double>(bf16(at(dy) * at(up)));
            const double sigmoid = 1.0 / (1.0 + std::exp(-g));
            const double cubic = std::sqrt(2.0 / std::acos(-1.0)) * (g + 0.044715 * g * g * g);
            different += at(y) != static_cast<double>(bf16(s * at(up)));
            different += at(dup) != static_cast<double>(bf16(s * at(dy)));
            different += at(dgate) != static_cast<double>(bf16(ds * sigmoid * (1.0 + g * (1.0 - sigmoid))));
            different += at(gelu) != static_cast<double>(bf16(0.5 * g * (1.0 + std::tanh(cubic))));
        }
        // A float32 result that falls on the other side of a boundary is rare: a few in 2^16.
        CHECK(different <= 1);
    }
}

TEST_CASE("bfloat16 losses: mse in float32, cross-entropy with a rounded log_softmax") {
    HalfPair p;
    const Tensor prediction = p.random_half({7, 3});
    const Tensor target = p.random({7, 3});
    const Tensor logits = p.random_half({7, 33});
    const Tensor targets = p.random_indices(7, 33);
    for (const Kernels* k : {&p.fast, &p.plain}) {
        const Tensor loss = p.random({1});
        k->mse_forward(loss, prediction, target);
        double sum = 0.0;
        for (std::size_t i = 0; i < 21; ++i) {
            const double d = static_cast<double>(p.wide(prediction).data<float>()[i]) -
                             static_cast<double>(target.data<float>()[i]);
            sum += d * d;
        }
        CHECK(loss.data<float>()[0] == Approx(sum / 21).epsilon(1e-6));
        const Tensor dprediction = p.random_half({7, 3});
        k->mse_backward(dprediction, p.of({1}, {1}), prediction, target);
        for (std::size_t i = 0; i < 21; ++i) {
            const double d = static_cast<double>(p.wide(prediction).data<float>()[i]) -
                             static_cast<double>(target.data<float>()[i]);
            CHECK(from_bfloat16(dprediction.data<uint16_t>()[i]) ==
                  Approx(static_cast<double>(bf16(2.0 / 21 * d))).epsilon(1.0 / 256));
        }

        const Tensor half_loss = p.random_half({1});
        const Tensor lse = p.random({7});
        k->cross_entropy_forward(half_loss, lse, logits, targets, 7.0);
        const Tensor dlogits = p.random_half({7, 33});
        k->cross_entropy_backward(dlogits, p.half_of({1}, {1}), logits, lse, targets, 7.0);
        double total = 0.0;
        const auto share = static_cast<double>(bf16(1.0 / 7));
        for (std::size_t r = 0; r < 7; ++r) {
            double exps = 0.0;
            for (std::size_t c = 0; c < 33; ++c)
                exps += std::exp(static_cast<double>(p.wide(logits).data<float>()[r * 33 + c]));
            for (std::size_t c = 0; c < 33; ++c) {
                const auto log_p = static_cast<double>(
                    bf16(static_cast<double>(p.wide(logits).data<float>()[r * 33 + c]) - std::log(exps)));
                const bool wanted = static_cast<int64_t>(c) == targets.data<int64_t>()[r];
                if (wanted) total -= log_p;
                const double exact = (std::exp(log_p) - (wanted ? 1.0 : 0.0)) * share;
                CHECK(from_bfloat16(dlogits.data<uint16_t>()[r * 33 + c]) ==
                      Approx(exact).epsilon(1.0 / 256));
            }
        }
        CHECK(from_bfloat16(half_loss.data<uint16_t>()[0]) ==
              Approx(static_cast<double>(bf16(total / 7))).epsilon(1.0 / 256));
    }
}

TEST_CASE("the other kernels take bfloat16, and fast and naive ones agree") {
    HalfPair p;
    const Tensor x = p.random_half({9, 12});
    const Tensor dy = p.random_half({9, 12});
    const Tensor w = p.random_half({12});
    const Tensor matrix = p.random_half({5, 12});
    const Tensor b = p.random_half({5});
    const Tensor dout = p.random_half({9, 5});
    const Tensor at = p.random_indices(9, 4);
    const Tensor table = p.random_half({4, 12});
    const Tensor mean = p.random({9});
    const Tensor rstd = p.random({9});
    using Out = std::vector<Tensor>;
    const Shape full{9, 12};
    p.agree({{9, 5}}, [&](const Kernels& k, const Out& out) { k.linear_forward(out[0], x, matrix, b); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.linear_input_grad(out[0], dout, matrix); });
    p.agree({{5, 12}},
            [&](const Kernels& k, const Out& out) { k.linear_weight_grad(out[0], dout, x, false); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.relu_forward(out[0], x); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.relu_backward(out[0], dy, x); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.gelu_tanh_backward(out[0], dy, x); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.scale(out[0], 0.3F); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.axpy(out[0], 0.3F, x); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.multiply(out[0], dy, x); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.fill(out[0], 0.3F); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.embedding_forward(out[0], table, at); });
    for (const bool accumulate : {false, true})
        p.agree({{4, 12}},
                [&](const Kernels& k, const Out& out) { k.embedding_backward(out[0], dy, at, accumulate); });
    p.agree({full}, [&](const Kernels& k, const Out& out) {
        k.layer_norm_forward(out[0], mean, rstd, x, w, Tensor(), 1e-5);
    });
    p.agree({full},
            [&](const Kernels& k, const Out& out) { k.layer_norm_input_grad(out[0], dy, x, mean, rstd, w); });
    p.agree({{12}, {12}}, [&](const Kernels& k, const Out& out) {
        k.layer_norm_weight_grad(out[0], out[1], dy, x, mean, rstd, true);
    });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.rms_norm_forward(out[0], rstd, x, w, 1e-5); });
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.rms_norm_input_grad(out[0], dy, x, rstd, w); });
    p.agree({{12}},
            [&](const Kernels& k, const Out& out) { k.rms_norm_weight_grad(out[0], dy, x, rstd, false); });
    RotaryShape turn;
    turn.batch = 1;
    turn.tokens = 9;
    turn.heads = 3;
    turn.head_dim = 4;
    p.agree({full}, [&](const Kernels& k, const Out& out) { k.rotary(out[0], x, turn, false); });
    AttentionShape shape;
    shape.batch = 1;
    shape.q_tokens = shape.k_tokens = 9;
    shape.heads = shape.kv_heads = 3;
    shape.head_dim = 4;
    shape.scale = 0.5;
    const Tensor lse = p.random({3, 9});
    p.agree({full},
            [&](const Kernels& k, const Out& out) { k.attention_forward(out[0], lse, x, dy, x, shape); });
    const Tensor o = p.random_half(full);
    p.plain.attention_forward(o, lse, x, dy, x, shape);
    p.agree({full, full, full}, [&](const Kernels& k, const Out& out) {
        k.attention_backward(out[0], out[1], out[2], dy, x, dy, x, o, lse, shape);
    });
    CHECK(p.fast.sum_of_squares(x) == Approx(p.plain.sum_of_squares(p.wide(x))).epsilon(1e-13));
}

TEST_CASE("of a cut table and cut logits, bfloat16 gives float32's figures, rounded once") {
    HalfPair p;
    const Tensor table = p.random_half({4, 12}), dy = p.random_half({9, 12}), logits = p.random_half({9, 5});
    const Tensor at = p.random_indices(9, 11), targets = p.random_indices(9, 8);  // some stand elsewhere
    const Tensor wide_logits = p.wide(logits), seed = p.half_of({0.25F}, {1});
    const auto rounds = [&](const Tensor& half, const Tensor& exact) {
        for (std::size_t i = 0; i < exact.data<float>().size(); ++i)
            CHECK(p.wide(half).data<float>()[i] == bf16(double(exact.data<float>()[i])));
    };
    for (const Kernels* k : {&p.fast, &p.plain}) {
        const Tensor y = p.random_half({9, 12}), wide_y = p.random({9, 12});
        k->embedding_part_forward(y, table, at, 3);
        k->embedding_part_forward(wide_y, p.wide(table), at, 3);
        rounds(y, wide_y);
        const Tensor dtable = p.random_half({4, 12}), wide_dtable = p.random({4, 12});
        k->embedding_part_backward(dtable, dy, at, 3, false);
        k->embedding_part_backward(wide_dtable, p.wide(dy), at, 3, false);
        rounds(dtable, wide_dtable);

        const Tensor largest = p.random({9}), sums = p.random({9}), picked = p.random({9}),
                     lse = p.random({9});
        const auto same = [&](const Tensor& figures, const std::function<void(const Tensor&)>& exact) {
            const Tensor wanted = p.random({9});
            exact(wanted);
            CHECK(std::ranges::equal(figures.data<float>(), wanted.data<float>()));
        };
        k->row_max(largest, logits);
        same(largest, [&](const Tensor& out) { k->row_max(out, wide_logits); });
        k->row_sum_exp(sums, logits, largest);
        same(sums, [&](const Tensor& out) { k->row_sum_exp(out, wide_logits, largest); });
        k->pick_targets(picked, logits, targets, 2);
        same(picked, [&](const Tensor& out) { k->pick_targets(out, wide_logits, targets, 2); });
        const Tensor loss = p.random_half({1}), wide_loss = p.random({1});
        k->cross_entropy_of_parts(loss, lse, largest, sums, picked, targets, 9.0);
        k->cross_entropy_of_parts(wide_loss, lse, largest, sums, picked, targets, 9.0);
        rounds(loss, wide_loss);
        const Tensor grad = p.random_half({9, 5}), wide_grad = p.random({9, 5});
        k->cross_entropy_part_backward(grad, seed, logits, lse, targets, 2, 9.0);
        k->cross_entropy_part_backward(wide_grad, p.wide(seed), wide_logits, lse, targets, 2, 9.0);
        rounds(grad, wide_grad);
    }
}

TEST_CASE("a mixture of float32 and bfloat16 is refused by name") {
    HalfPair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->add(p.random_half({2}), p.random({2}), p.random_half({2}));
              }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_forward(p.random({2, 2}), p.random_half({2, 3}), p.random_half({2, 3}), Tensor());
              }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->mse_forward(p.random_half({1}), p.random_half({2}), p.random({2}));
              }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->sgd_step(p.random_half({2}), p.random({2}), Tensor(), {});
              }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_forward(p.random_half({2, 2}), p.random_half({2, 3}), p.random_half({2, 4}),
                                    Tensor());
              }) == "kernel.shape");
    }
}
