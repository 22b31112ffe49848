// The model kernels against what mathematics says: worked values, finite differences, invariants.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/tensor/kernels_cpu.h"
#include "tests/tensor/kernel_pair.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

/// Σ y · weights for the outputs that `forward` writes.
using Objective = std::function<double()>;

double weighted(const Tensor& y, const Tensor& weights) {
    double sum = 0.0;
    for (std::size_t i = 0; i < y.data<float>().size(); ++i)
        sum += static_cast<double>(y.data<float>()[i]) * static_cast<double>(weights.data<float>()[i]);
    return sum;
}

/// Compares a gradient with central differences of the objective in every element of `x`. The step is wide
/// because results are rounded to float32: error of the difference ≈ 1e-7 / step + step².
void check_gradient(const Tensor& x, const Tensor& gradient, const Objective& objective) {
    const double step = 1.0 / 128;
    REQUIRE(x.n_elements() == gradient.n_elements());
    for (std::size_t i = 0; i < x.data<float>().size(); ++i) {
        float& element = x.data<float>()[i];
        const float kept = element;
        element = kept + static_cast<float>(step);
        const double up = objective();
        const double above = static_cast<double>(element) - static_cast<double>(kept);
        element = kept - static_cast<float>(step);
        const double down = objective();
        const double below = static_cast<double>(kept) - static_cast<double>(element);
        element = kept;
        CAPTURE(i);
        CHECK(gradient.data<float>()[i] == Approx((up - down) / (above + below)).margin(2e-3).epsilon(2e-3));
    }
}

}  // namespace

TEST_CASE("worked values of batch norm: statistics of two parts are those of all rows") {
    Pair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        // One feature: 1, 3 here and 9, 11, 16 there; together mean 8, squares 49+25+1+9+64 = 148.
        const Tensor parts = p.of(std::vector<float>(6, 0.0F), {2, 3});
        k->batch_norm_stats(parts.narrow(0, 1).flat(), p.of({1, 3}, {2, 1}), 0.0);
        k->batch_norm_stats(parts.narrow(1, 1).flat(), p.of({9, 11, 16}, {3, 1}), 0.0);
        CHECK(parts.data<float>()[0] == Approx(2));
        CHECK(parts.data<float>()[1] == Approx(1));  // variance 1
        CHECK(parts.data<float>()[2] == 2);
        CHECK(parts.data<float>()[3] == Approx(12));
        CHECK(parts.data<float>()[4] == Approx(1 / std::sqrt(26.0 / 3)));
        CHECK(parts.data<float>()[5] == 3);
        const Tensor mean = p.of({0}, {1}), invstd = p.of({0}, {1});
        const Tensor running_mean = p.of({10}, {1}), running_var = p.of({10}, {1});
        CHECK(k->batch_norm_gather_stats(mean, invstd, running_mean, running_var, parts, 0.1, 0.0) == 5);
        CHECK(mean.data<float>()[0] == Approx(8));
        CHECK(invstd.data<float>()[0] == Approx(1 / std::sqrt(148.0 / 5)));
        CHECK(running_mean.data<float>()[0] == Approx(9 + 0.8));
        CHECK(running_var.data<float>()[0] == Approx(9 + 3.7));  // over rows - 1
        const Tensor y = p.of({0, 0}, {2, 1});
        k->batch_norm_elemt(y, p.of({1, 3}, {2, 1}), p.of({2}, {1}), p.of({0.5}, {1}), p.of({4}, {1}),
                            p.of({1}, {1}));
        CHECK(y.data<float>()[0] == Approx(-1));
        CHECK(y.data<float>()[1] == Approx(3));
        const Tensor sums = p.of({0, 0}, {2}), dw = p.of({0}, {1}), db = p.of({0}, {1});
        k->batch_norm_backward_reduce(sums, dw, db, p.of({1, 2}, {2, 1}), p.of({1, 3}, {2, 1}),
                                      p.of({2}, {1}), p.of({0.5}, {1}));
        CHECK(sums.data<float>()[0] == Approx(3));
        CHECK(sums.data<float>()[1] == Approx(1));
        CHECK(dw.data<float>()[0] == Approx(0.5));
        CHECK(db.data<float>()[0] == Approx(3));
        // weight 4, invstd 0.5: 2 · (dy - 3/4 - (x - 2)/4 · 1/4), with 4 rows in all.
        const Tensor dx = p.of({0, 0}, {2, 1});
        k->batch_norm_backward_elemt(dx, p.of({1, 2}, {2, 1}), p.of({1, 3}, {2, 1}), p.of({2}, {1}),
                                     p.of({0.5}, {1}), p.of({4}, {1}), sums, 4);
        CHECK(dx.data<float>()[0] == Approx(2 * (1 - 0.75 + 0.0625)));
        CHECK(dx.data<float>()[1] == Approx(2 * (2 - 0.75 - 0.0625)));
    }
}

TEST_CASE("worked values of norms") {
    Pair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        // Mean 2, distances -1, 0, 1: variance 2/3. eps 1/12 makes rstd 1/√0.75.
        const Tensor y = p.random({1, 3});
        const Tensor mean = p.random({1});
        const Tensor rstd = p.random({1});
        k->layer_norm_forward(y, mean, rstd, p.of({1, 2, 3}, {1, 3}), p.of({1, 2, 3}, {3}),
                              p.of({0, 10, 0}, {3}), 1.0 / 12);
        const auto root = static_cast<float>(1.0 / std::sqrt(0.75));
        CHECK(mean.data<float>()[0] == 2.0F);
        CHECK(rstd.data<float>()[0] == Approx(root).epsilon(1e-7));
        CHECK(distance(y, p.of({-root, 10.0F, 3.0F * root}, {1, 3})) < 2e-7);
        // Mean of squares 12.5 + eps 3.5 = 16: rstd 1/4, exactly.
        const Tensor z = p.random({1, 2});
        k->rms_norm_forward(z, rstd, p.of({3, 4}, {1, 2}), p.of({2, -1}, {2}), 3.5);
        CHECK(rstd.data<float>()[0] == 0.25F);
        CHECK(distance(z, p.of({1.5F, -1.0F}, {1, 2})) == 0.0);
    }
}

TEST_CASE("worked values of cross-entropy, attention and rotary positions") {
    Pair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        const Tensor loss = p.random({1});
        const Tensor lse = p.random({2});
        // Equal logits: log V, at any height; a certain answer costs nothing.
        k->cross_entropy_forward(loss, lse, p.of({500, 500, 500, 500, -200, 0, -200, -200}, {2, 4}),
                                 p.indices({2, 1}), 2.0);
        CHECK(loss.data<float>()[0] == Approx(std::log(4.0) / 2).epsilon(1e-6));
        CHECK(lse.data<float>()[1] == 0.0F);
        // A row whose target stands for none counts nothing, and gets no gradient.
        const Tensor logits = p.of({500, 500, 500, 500, -200, 0, -200, -200}, {2, 4}),
                     grad = p.random({2, 4});
        const Tensor some = p.indices({2, kIgnoredTarget});
        k->cross_entropy_forward(loss, lse, logits, some, 1.0);
        CHECK(loss.data<float>()[0] == Approx(std::log(4.0)).epsilon(1e-6));
        k->cross_entropy_backward(grad, p.of({1}, {1}), logits, lse, some, 1.0);
        CHECK(grad.data<float>()[0] == Approx(0.25));
        CHECK(grad.data<float>()[2] == Approx(-0.75));
        CHECK(std::ranges::count(grad.data<float>().subspan(4), 0.0F) == 4);

        // Two keys with equal scores: the mean of their values; the first query sees the first key only.
        AttentionShape shape;
        shape.batch = shape.heads = shape.kv_heads = 1;
        shape.q_tokens = shape.k_tokens = shape.head_dim = 2;
        const Tensor o = p.random({2, 2});
        k->attention_forward(o, lse, p.of({0, 0, 0, 0}, {2, 2}), p.of({1, 2, 3, 4}, {2, 2}),
                             p.of({1, 10, 3, 30}, {2, 2}), shape);
        CHECK(distance(o, p.of({1, 10, 2, 20}, {2, 2})) == 0.0);
        CHECK(lse.data<float>()[0] == 0.0F);
        CHECK(lse.data<float>()[1] == Approx(std::log(2.0)).epsilon(1e-6));

        // A query before all keys: nothing to see.
        shape.q_positions = p.indices({3, 9});
        shape.k_positions = p.indices({8, 9});
        k->attention_forward(o, lse, p.of({1, 1, 0, 0}, {2, 2}), p.of({1, 2, 3, 4}, {2, 2}),
                             p.of({1, 10, 3, 30}, {2, 2}), shape);
        CHECK(distance(o, p.of({0, 0, 2, 20}, {2, 2})) == 0.0);
        CHECK(lse.data<float>()[0] == -std::numeric_limits<float>::infinity());

        // theta 10000, head_dim 4: angles t and t/100.
        RotaryShape turn;
        turn.batch = turn.tokens = turn.heads = 1;
        turn.head_dim = 4;
        turn.first_position = 3;
        const Tensor out = p.random({4});
        k->rotary(out, p.of({1, 0, 0, 1}, {4}), turn, false);
        CHECK(distance(out, p.of({std::cos(3.0F), std::sin(3.0F), -std::sin(0.03F), std::cos(0.03F)}, {4})) <
              2e-7);
        k->rotary(out, out, turn, true);
        CHECK(distance(out, p.of({1, 0, 0, 1}, {4})) < 2e-7);
        // Element 0 turns with element 2 by t, 1 with 3 by t/100; halved by linear scaling.
        turn.halves = true;
        k->rotary(out, p.of({1, 0, 0, 1}, {4}), turn, false);
        CHECK(distance(out, p.of({std::cos(3.0F), -std::sin(0.03F), std::sin(3.0F), std::cos(0.03F)}, {4})) <
              2e-7);
        turn.scaling = {RopeScaling::Kind::linear, 2.0};
        k->rotary(out, p.of({1, 0, 0, 1}, {4}), turn, false);
        CHECK(distance(out, p.of({std::cos(1.5F), -std::sin(0.015F), std::sin(1.5F), std::cos(0.015F)},
                                 {4})) < 2e-7);

        // gelu: x times the share of a normal distribution below x.
        const Tensor gelu = p.random({3});
        k->gelu_forward(gelu, p.of({0, 1, -2}, {3}));
        CHECK(distance(gelu, p.of({0, 0.84134475F, -0.04550026F}, {3})) < 1e-7);

        // A window of 2 over three keys of equal scores: each query is the mean of itself and the one before.
        AttentionShape near;
        near.batch = near.heads = near.kv_heads = near.head_dim = 1;
        near.q_tokens = near.k_tokens = 3;
        near.window = 2;
        CHECK(near.pairs() == 5);
        const Tensor seen = p.random({3}), seen_lse = p.random({3});
        k->attention_forward(seen, seen_lse, p.of({0, 0, 0}, {3}), p.of({1, 1, 1}, {3}), p.of({1, 3, 7}, {3}),
                             near);
        CHECK(distance(seen, p.of({1, 2, 5}, {3})) < 1e-6);
    }
}

TEST_CASE("gradients equal finite differences") {
    Pair p;
    for (const Kernels* kernels : {&p.fast, &p.plain}) {
        const Kernels& k = *kernels;
        const Tensor x = p.random({3, 5});
        const Tensor w = p.random({5});
        const Tensor b = p.random({5});
        const Tensor dy = p.random({3, 5});
        const Tensor y = p.random({3, 5});
        const Tensor mean = p.random({3});
        const Tensor rstd = p.random({3});
        const Tensor dx = p.random({3, 5});
        const Tensor dw = p.random({5});
        const Tensor db = p.random({5});

        const Objective layer_norm = [&] {
            k.layer_norm_forward(y, mean, rstd, x, w, b, 1e-5);
            return weighted(y, dy);
        };
        layer_norm();
        k.layer_norm_input_grad(dx, dy, x, mean, rstd, w);
        k.layer_norm_weight_grad(dw, db, dy, x, mean, rstd, false);
        check_gradient(x, dx, layer_norm);
        check_gradient(w, dw, layer_norm);
        check_gradient(b, db, layer_norm);

        const Objective rms_norm = [&] {
            k.rms_norm_forward(y, rstd, x, w, 1e-5);
            return weighted(y, dy);
        };
        rms_norm();
        k.rms_norm_input_grad(dx, dy, x, rstd, w);
        k.rms_norm_weight_grad(dw, dy, x, rstd, false);
        check_gradient(x, dx, rms_norm);
        check_gradient(w, dw, rms_norm);

        const Tensor up = p.random({3, 5});
        const Tensor dup = p.random({3, 5});
        const Objective silu_mul = [&] {
            k.silu_mul_forward(y, x, up);
            return weighted(y, dy);
        };
        k.silu_mul_backward(dx, dup, dy, x, up);
        check_gradient(x, dx, silu_mul);
        check_gradient(up, dup, silu_mul);

        const Objective gelu = [&] {
            k.gelu_tanh_forward(y, x);
            return weighted(y, dy);
        };
        k.gelu_tanh_backward(dx, dy, x);
        check_gradient(x, dx, gelu);

        const Tensor targets = p.indices({4, 0, 4});
        const Tensor loss = p.random({1});
        const Tensor one = p.of({1}, {1});
        const Objective gelu_erf = [&] {
            k.gelu_forward(y, x);
            return weighted(y, dy);
        };
        k.gelu_backward(dx, dy, x);
        check_gradient(x, dx, gelu_erf);

        const Objective cross_entropy = [&] {
            k.cross_entropy_forward(loss, rstd, x, targets, 3.0);
            return weighted(loss, one);
        };
        cross_entropy();
        k.cross_entropy_backward(dx, one, x, rstd, targets, 3.0);
        check_gradient(x, dx, cross_entropy);
    }
}

TEST_CASE("attention's gradients equal finite differences, masked and not, with shared key/value heads") {
    Pair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        for (const int64_t window : {-1, 0, 2}) {
            const bool causal = window >= 0;
            AttentionShape shape;
            shape.window = std::max<int64_t>(window, 0);
            shape.batch = 2;
            shape.q_tokens = shape.k_tokens = 4;
            shape.heads = 4;
            shape.kv_heads = 2;
            shape.head_dim = 3;
            shape.causal = causal;
            shape.scale = 0.6;
            const Tensor q = p.random({2, 4, 12});
            const Tensor key = p.random({2, 4, 6});
            const Tensor value = p.random({2, 4, 6});
            const Tensor dout = p.random(q.shape());
            const Tensor o = p.random(q.shape());
            const Tensor lse = p.random({2, 4, 4});
            const Objective attention = [&] {
                k->attention_forward(o, lse, q, key, value, shape);
                return weighted(o, dout);
            };
            attention();
            const Tensor dq = p.random(q.shape());
            const Tensor dk = p.random(key.shape());
            const Tensor dv = p.random(key.shape());
            k->attention_backward(dq, dk, dv, dout, q, key, value, o, lse, shape);
            check_gradient(q, dq, attention);
            check_gradient(key, dk, attention);
            check_gradient(value, dv, attention);
        }
    }
}

TEST_CASE("attention over parts of the keys, merged by log-sum-exp, is attention over all") {
    Pair p;
    // Keys in two parts of 16 tokens held out of order, as a balanced ring holds them.
    const std::vector<int64_t> first{0, 1, 2, 3, 12, 13, 14, 15};
    const std::vector<int64_t> second{4, 5, 6, 7, 8, 9, 10, 11};
    AttentionShape whole;
    whole.batch = 1;
    whole.q_tokens = whole.k_tokens = 16;
    whole.heads = whole.kv_heads = 2;
    whole.head_dim = 4;
    whole.scale = 0.5;
    const Tensor q = p.random({16, 8});
    const Tensor k = p.random({16, 8});
    const Tensor v = p.random({16, 8});
    const Tensor dout = p.random({16, 8});
    const auto rows = [&](const Tensor& t, const std::vector<int64_t>& which) {
        const Tensor part = p.random({8, 8});
        p.plain.embedding_forward(part, t, p.indices(which));
        return part;
    };
    for (const Kernels* kernels : {&p.fast, &p.plain}) {
        const Tensor o = p.random({16, 8});
        const Tensor lse = p.random({2, 16});
        kernels->attention_forward(o, lse, q, k, v, whole);
        const Tensor dq = p.random({16, 8});
        const Tensor dk = p.random({16, 8});
        const Tensor dv = p.random({16, 8});
        kernels->attention_backward(dq, dk, dv, dout, q, k, v, o, lse, whole);

        const Tensor merged = p.allocator.zeros({16, 8}, DType::float32, MemoryCategory::temporaries, "t");
        // The same once more by the kernel, which knows no lse of the whole; it begins with no key seen.
        const Tensor online = p.copy(merged);
        const Tensor online_lse = p.random({2, 16});
        kernels->fill(online_lse, -std::numeric_limits<float>::infinity());
        const Tensor dq_sum = p.copy(merged);
        for (const auto& which : {first, second}) {
            AttentionShape part = whole;
            part.k_tokens = 8;
            part.k_positions = p.indices(which);
            const Tensor o_part = p.random({16, 8});
            const Tensor lse_part = p.random({2, 16});
            kernels->attention_forward(o_part, lse_part, q, rows(k, which), rows(v, which), part);
            for (std::size_t t = 0; t < 16; ++t)
                for (std::size_t i = 0; i < 8; ++i) {
                    const std::size_t at = i / 4 * 16 + t;
                    merged.data<float>()[t * 8 + i] +=
                        o_part.data<float>()[t * 8 + i] *
                        std::exp(lse_part.data<float>()[at] - lse.data<float>()[at]);
                }
            kernels->attention_merge(online, online_lse, o_part, lse_part, part);
            const Tensor dq_part = p.random({16, 8});
            const Tensor dk_part = p.random({8, 8});
            const Tensor dv_part = p.random({8, 8});
            kernels->attention_backward(dq_part, dk_part, dv_part, dout, q, rows(k, which), rows(v, which), o,
                                        lse, part);
            kernels->add(dq_sum, dq_sum, dq_part);
            CHECK(distance(dk_part, rows(dk, which)) < 2e-6);
            CHECK(distance(dv_part, rows(dv, which)) < 2e-6);
        }
        CHECK(distance(merged, o) < 2e-6);
        CHECK(distance(online, o) < 2e-6);
        CHECK(distance(online_lse, lse) < 2e-6);
        CHECK(distance(dq_sum, dq) < 2e-6);
    }
}
