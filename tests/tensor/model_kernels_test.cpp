// The kernels of gpt and llama: the fast ones, with every table of loops, against the naive reference.
#include <cmath>

#include "core/tensor/kernels_cpu.h"
#include "core/tensor/vector_choice.h"
#include "tests/tensor/kernel_pair.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::tensor;

namespace {

/// The fast kernels with each table of loops that this machine can run.
std::vector<std::unique_ptr<CpuKernels>> all_fast() {
    std::vector<std::unique_ptr<CpuKernels>> result;
    for (const VectorLoops* loops : runnable_loops()) result.push_back(std::make_unique<CpuKernels>(*loops));
    return result;
}

/// Runs `call` with fast and naive kernels into tensors of these shapes, filled alike, and compares each.
template <class Call>
void both(Pair& p, const std::vector<Shape>& outs, double tolerance, const Call& call) {
    std::vector<Tensor> before;
    for (const Shape& shape : outs) before.push_back(p.random(shape));
    const auto run = [&](const Kernels& kernels) {
        std::vector<Tensor> results;
        for (const Tensor& t : before) results.push_back(p.copy(t));
        call(kernels, results);
        return results;
    };
    const std::vector<Tensor> wanted = run(p.plain);
    for (const auto& work : all_fast()) {
        const std::vector<Tensor> got = run(Kernels(*work));
        for (std::size_t i = 0; i < outs.size(); ++i) {
            CAPTURE(i);
            CHECK(distance(got[i], wanted[i]) <= tolerance);
        }
    }
}

struct Rows {
    int64_t rows, width;
};
const std::vector<Rows> kRows{{0, 8}, {1, 1}, {3, 7}, {5, 16}, {4, 33}, {2, 257}, {130, 64}};

struct Heads {
    int64_t batch, q_tokens, k_tokens, heads, kv_heads, head_dim;
};
// Beyond one block of 64 queries and of 512 keys, and 0 of everything.
const std::vector<Heads> kHeads{{0, 3, 3, 2, 1, 4},   {2, 0, 3, 2, 2, 4},       {2, 3, 0, 2, 2, 4},
                                {1, 1, 1, 1, 1, 2},   {2, 5, 5, 4, 2, 3},       {1, 65, 65, 2, 2, 8},
                                {2, 7, 130, 6, 2, 5}, {1, 130, 1030, 2, 1, 16}, {1, 200, 40, 3, 3, 8}};

AttentionShape shape_of(const Heads& s, bool causal) {
    AttentionShape shape;
    shape.batch = s.batch;
    shape.q_tokens = s.q_tokens;
    shape.k_tokens = s.k_tokens;
    shape.heads = s.heads;
    shape.kv_heads = s.kv_heads;
    shape.head_dim = s.head_dim;
    shape.causal = causal;
    shape.scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
    return shape;
}

/// lse may hold -∞ on both sides, which distance() would call NaN.
void lower_infinity(const Tensor& lse) {
    for (float& x : lse.data<float>())
        if (x == -std::numeric_limits<float>::infinity()) x = -1e30F;
}

}  // namespace

TEST_CASE("norms agree with the reference") {
    Pair p;
    for (const auto& [rows, width] : kRows) {
        CAPTURE(rows, width);
        const Tensor x = p.random({rows, width});
        const Tensor dy = p.random({rows, width});
        const Tensor w = p.random({width});
        const Tensor b = p.random({width});
        const Shape full{rows, width};
        for (const Tensor& bias : {b, Tensor()})
            both(p, {full, {rows}, {rows}}, 4e-6, [&](const Kernels& k, const std::vector<Tensor>& out) {
                k.layer_norm_forward(out[0], out[1], out[2], x, w, bias, 1e-5);
            });
        both(p, {full, {rows}}, 4e-6, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.rms_norm_forward(out[0], out[1], x, w, 1e-5);
        });
        const Tensor y = p.random(full);
        const Tensor mean = p.random({rows});
        const Tensor rstd = p.random({rows});
        p.plain.layer_norm_forward(y, mean, rstd, x, w, b, 1e-5);
        // A row of one element has no variance: rstd is 1/√eps, and its gradient a difference of equals.
        const double tolerance = width == 1 ? 1e-4 : 8e-6;
        both(p, {full}, tolerance, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.layer_norm_input_grad(out[0], dy, x, mean, rstd, w);
        });
        for (const bool accumulate : {false, true})
            both(p, {{width}, {width}}, 2e-5, [&](const Kernels& k, const std::vector<Tensor>& out) {
                k.layer_norm_weight_grad(out[0], out[1], dy, x, mean, rstd, accumulate);
            });
        both(p, {{width}}, 2e-5, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.layer_norm_weight_grad(out[0], Tensor(), dy, x, mean, rstd, false);
        });
        p.plain.rms_norm_forward(y, rstd, x, w, 1e-5);
        both(p, {full}, tolerance, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.copy(out[0], dy);
            k.rms_norm_input_grad(out[0], out[0], x, rstd, w);  // in place
        });
        for (const bool accumulate : {false, true})
            both(p, {{width}}, 2e-5, [&](const Kernels& k, const std::vector<Tensor>& out) {
                k.rms_norm_weight_grad(out[0], dy, x, rstd, accumulate);
            });
    }
}

TEST_CASE("batch norm agrees with the reference") {
    Pair p;
    for (const auto& [rows, width] : kRows) {
        if (rows == 0) continue;  // no rows have no mean
        CAPTURE(rows, width);
        const Tensor x = p.random({rows, width});
        const Tensor dy = p.random({rows, width});
        const Tensor w = p.random({width});
        const Tensor b = p.random({width});
        // One row has no variance: 1/√eps, where a difference of equals is blown up.
        const double tolerance = rows == 1 ? 1e-4 : 8e-6;
        both(p, {{2 * width + 1}}, tolerance,
             [&](const Kernels& k, const std::vector<Tensor>& out) { k.batch_norm_stats(out[0], x, 1e-5); });
        const Tensor statistics = p.random({2 * width + 1});
        const Tensor mean = p.random({width}), invstd = p.random({width});
        p.plain.batch_norm_stats(statistics, x, 1e-5);
        const Tensor running = p.random({width});
        p.plain.batch_norm_gather_stats(mean, invstd, p.copy(running), p.copy(running), statistics, 0.1,
                                        1e-5);
        both(p, {{rows, width}}, tolerance, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.batch_norm_elemt(out[0], x, mean, invstd, w, b);
        });
        const Tensor sums = p.random({2 * width});
        both(p, {{2 * width}, {width}, {width}}, 2e-5, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.batch_norm_backward_reduce(out[0], out[1], out[2], dy, x, mean, invstd);
        });
        both(p, {{rows, width}}, tolerance, [&](const Kernels& k, const std::vector<Tensor>& out) {
            k.copy(out[0], dy);
            k.batch_norm_backward_elemt(out[0], out[0], x, mean, invstd, w, sums, 2 * rows);  // in place
        });
    }
}

TEST_CASE("SwiGLU, products and rotary positions agree with the reference") {
    Pair p;
    for (const int64_t n : {0, 1, 3, 8, 64, 1001}) {
        CAPTURE(n);
        const Tensor gate = p.random({n});
        const Tensor up = p.random({n});
        const Tensor dy = p.random({n});
        both(p, {{n}}, 1e-6,
             [&](const Kernels& k, const auto& out) { k.silu_mul_forward(out[0], gate, up); });
        both(p, {{n}, {n}}, 2e-6,
             [&](const Kernels& k, const auto& out) { k.silu_mul_backward(out[0], out[1], dy, gate, up); });
        // Outputs may be inputs, crosswise too.
        both(p, {{n}, {n}}, 2e-6, [&](const Kernels& k, const auto& out) {
            k.copy(out[0], up);
            k.copy(out[1], gate);
            k.silu_mul_backward(out[0], out[1], dy, out[1], out[0]);
        });
        both(p, {{n}}, 0.0, [&](const Kernels& k, const auto& out) { k.multiply(out[0], gate, up); });
    }
    const Tensor positions = p.indices({0, 1, 14, 15, 1000});
    for (const int64_t head_dim : {2, 6, 8, 64}) {
        for (const bool inverse : {false, true}) {
            for (const Tensor& at : {positions, Tensor()}) {
                RotaryShape shape;
                shape.halves = inverse != at.defined();
                if (head_dim == 64) shape.scaling = {RopeScaling::Kind::llama3, 8.0, 1.0, 4.0, 64};
                if (head_dim == 8) shape.scaling = {RopeScaling::Kind::linear, 3.0};
                shape.batch = 2;
                shape.tokens = 5;
                shape.heads = 3;
                shape.head_dim = head_dim;
                shape.first_position = 7;
                shape.positions = at;
                const Tensor x = p.random({2, 5, 3 * head_dim});
                both(p, {x.shape()}, 4e-7,
                     [&](const Kernels& k, const auto& out) { k.rotary(out[0], x, shape, inverse); });
            }
        }
    }
}

TEST_CASE("embedding agrees with the reference, and the rows of a repeated token add up") {
    Pair p;
    for (const auto& [rows, width] : kRows) {
        CAPTURE(rows, width);
        const Tensor table = p.random({11, width});
        const Tensor at = p.random_indices(rows, 11);
        const Tensor dy = p.random({rows, width});
        both(p, {{rows, width}}, 0.0,
             [&](const Kernels& k, const auto& out) { k.embedding_forward(out[0], table, at); });
        for (const bool accumulate : {false, true})
            both(p, {{11, width}}, 0.0, [&](const Kernels& k, const auto& out) {
                k.embedding_backward(out[0], dy, at, accumulate);
            });
    }
    const Tensor dtable = p.of({1, 1, 1, 1, 1, 1}, {3, 2});
    for (const Kernels* k : {&p.fast, &p.plain}) {
        k->embedding_backward(dtable, p.of({1, 2, 10, 20, 100, 200}, {3, 2}), p.indices({2, 0, 2}), false);
        CHECK(distance(dtable, p.of({10, 20, 0, 0, 101, 202}, {3, 2})) == 0.0);
    }
}

TEST_CASE("cross-entropy agrees with the reference") {
    Pair p;
    for (const auto& [rows, width] : kRows) {
        if (rows == 0) continue;
        CAPTURE(rows, width);
        const Tensor logits = p.random({rows, width});
        p.plain.scale(logits, 20.0F);
        const Tensor targets = p.random_indices(rows, width);
        if (rows > 1) targets.data<int64_t>()[1] = tensor::kIgnoredTarget;  // counts nothing
        constexpr double kDivisor = 2.5;
        both(p, {{1}, {rows}}, 1e-6, [&](const Kernels& k, const auto& out) {
            k.cross_entropy_forward(out[0], out[1], logits, targets, kDivisor);
        });
        const Tensor lse = p.random({rows});
        p.plain.cross_entropy_forward(p.random({1}), lse, logits, targets, kDivisor);
        const Tensor dloss = p.of({0.7F}, {1});
        both(p, {{rows, width}}, 1e-6, [&](const Kernels& k, const auto& out) {
            k.cross_entropy_backward(out[0], dloss, logits, lse, targets, kDivisor);
        });
        both(p, {{rows, width}}, 1e-6, [&](const Kernels& k, const auto& out) {
            k.copy(out[0], logits);
            k.cross_entropy_backward(out[0], dloss, out[0], lse, targets, kDivisor);
        });
        // A part of a vocabulary that begins 2 before this one and may hold a row's target or not.
        const Tensor largest = p.random({rows});
        both(p, {{rows}}, 2e-6, [&](const Kernels& k, const auto& out) {
            k.row_max(largest, logits);
            k.row_sum_exp(out[0], logits, largest);
        });
        both(p, {{rows, width}}, 1e-6, [&](const Kernels& k, const auto& out) {
            k.cross_entropy_part_backward(out[0], dloss, logits, lse, targets, -2, kDivisor);
        });
    }
    for (const Kernels* k : {&p.fast, &p.plain}) {
        const Tensor loss = p.random({1});
        k->cross_entropy_forward(loss, p.random({0}), p.random({0, 5}), p.indices({}), 0.0);
        CHECK(std::isnan(loss.data<float>()[0]));  // the mean of nothing, as in PyTorch
    }
}

TEST_CASE("attention agrees with the reference over blocks, heads, masks and no keys at all") {
    Pair p;
    for (const Heads& sizes : kHeads) {
        const auto& [batch, q_tokens, k_tokens, heads, kv_heads, head_dim] = sizes;
        CAPTURE(batch, q_tokens, k_tokens, heads, kv_heads, head_dim);
        const Tensor q = p.random({batch, q_tokens, heads * head_dim});
        const Tensor k = p.random({batch, k_tokens, kv_heads * head_dim});
        const Tensor v = p.random({batch, k_tokens, kv_heads * head_dim});
        const Tensor dout = p.random(q.shape());
        // Positions that do not ascend and hide all keys from some queries, as a rank of a cut sequence may
        // see.
        const Tensor q_at = p.random_indices(q_tokens, 2 * q_tokens + 1);
        const Tensor k_at = p.random_indices(k_tokens, 2 * k_tokens + 1);
        for (const int kind : {0, 1, 2, 3, 4}) {
            CAPTURE(kind);
            AttentionShape shape = shape_of(sizes, kind > 0);
            if (kind > 2) shape.window = kind == 3 ? 3 : 70;  // within a block, and beyond it
            if (kind == 2 || kind == 4) {
                shape.q_positions = q_at;
                shape.k_positions = k_at;
            }
            both(p, {q.shape(), {batch, heads, q_tokens}}, 3e-6,
                 [&](const Kernels& kernels, const auto& out) {
                     kernels.attention_forward(out[0], out[1], q, k, v, shape);
                     lower_infinity(out[1]);
                 });
            const Tensor o = p.random(q.shape());
            const Tensor lse = p.random({batch, heads, q_tokens});
            p.plain.attention_forward(o, lse, q, k, v, shape);
            // Into what was seen of other keys, which some rows did not see at all either.
            const Tensor others = p.random(q.shape()), others_lse = p.random({batch, heads, q_tokens});
            for (std::size_t i = 0; i < others_lse.data<float>().size(); i += 3)
                others_lse.data<float>()[i] = -std::numeric_limits<float>::infinity();
            both(p, {q.shape(), {batch, heads, q_tokens}}, 3e-6,
                 [&](const Kernels& kernels, const auto& out) {
                     kernels.copy(out[0], others);
                     kernels.copy(out[1], others_lse);
                     kernels.attention_merge(out[0], out[1], o, lse, shape);
                     lower_infinity(out[1]);
                 });
            both(p, {q.shape(), k.shape(), v.shape()}, 1e-5, [&](const Kernels& kernels, const auto& out) {
                kernels.attention_backward(out[0], out[1], out[2], dout, q, k, v, o, lse, shape);
            });
        }
    }
}

TEST_CASE("what does not fit is refused by name") {
    Pair p;
    for (const Kernels* k : {&p.fast, &p.plain}) {
        const Tensor table = p.random({3, 2});
        for (const int64_t wrong : {int64_t{-1}, int64_t{3}}) {
            CHECK(test::thrown_id<InvalidArgument>([&] {
                      k->embedding_forward(p.random({1, 2}), table, p.indices({wrong}));
                  }) == "kernel.index");
            CHECK(test::thrown_id<InvalidArgument>([&] {
                      k->embedding_backward(table, p.random({1, 2}), p.indices({wrong}), true);
                  }) == "kernel.index");
            CHECK(test::thrown_id<InvalidArgument>([&] {
                      k->cross_entropy_forward(p.random({1}), p.random({1}), p.random({1, 3}),
                                               p.indices({wrong}), 1.0);
                  }) == "kernel.index");
            CHECK(test::thrown_id<InvalidArgument>([&] {
                      k->cross_entropy_backward(p.random({1, 3}), p.random({1}), p.random({1, 3}),
                                                p.random({1}), p.indices({wrong}), 1.0);
                  }) == "kernel.index");
        }
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->embedding_forward(p.random({2, 2}), table, p.indices({0}));
              }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->embedding_forward(p.random({1, 2}), table, p.random({1}));
              }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->layer_norm_forward(p.random({2, 3}), p.random({2}), p.random({3}), p.random({2, 3}),
                                        p.random({3}), Tensor(), 1e-5);
              }) == "kernel.shape");
        RotaryShape odd;
        odd.batch = odd.tokens = odd.heads = 1;
        odd.head_dim = 3;
        CHECK(test::thrown_id<InvalidArgument>(
                  [&] { k->rotary(p.random({3}), p.random({3}), odd, false); }) == "kernel.shape");
        AttentionShape uneven = shape_of({1, 2, 2, 3, 2, 2}, true);
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->attention_forward(p.random({2, 6}), p.random({6}), p.random({2, 6}), p.random({2, 4}),
                                       p.random({2, 4}), uneven);
              }) == "kernel.shape");
    }
}
