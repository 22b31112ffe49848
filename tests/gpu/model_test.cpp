// The GPU's kernels of gpt and llama and of their losses against the CPU's reference.
#include "tests/gpu/gpu_pair.h"

using namespace meshscope;
using namespace meshscope::gpu_test;
using tensor::AttentionShape;

namespace {

struct Rows {
    int64_t rows, width;
};
const std::vector<Rows> kRows{{0, 8}, {1, 1}, {3, 7}, {5, 32}, {4, 33}, {2, 700}, {130, 64}, {390, 5}};

struct Heads {
    int64_t batch, q_tokens, k_tokens, heads, kv_heads, head_dim;
};
// 0 of everything, less and more than a block's 16 rows, than a tile's 32 keys, and each kernel's widest
// head.
const std::vector<Heads> kHeads{{0, 3, 3, 2, 1, 4},    {2, 0, 3, 2, 2, 4},    {2, 3, 0, 2, 2, 4},
                                {1, 1, 1, 1, 1, 2},    {2, 5, 5, 4, 2, 3},    {1, 33, 33, 2, 2, 8},
                                {2, 7, 70, 6, 2, 5},   {1, 50, 20, 3, 3, 8},  {1, 18, 40, 1, 1, 64},
                                {1, 17, 33, 2, 1, 96}, {1, 17, 35, 1, 1, 256}};

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

/// Attention forward and backward on both. `o` and `lse` of the backward pass are the reference's. With
/// positions, these are of the queries and keys.
void check_attention(GpuPair& p, const Heads& s, bool causal, DType dtype, const std::vector<int64_t>& q_at,
                     const std::vector<int64_t>& k_at, int64_t window = 0) {
    AttentionShape here = shape_of(s, causal);
    here.window = window;
    AttentionShape there = here;
    if (!q_at.empty()) {
        here.q_positions = p.indices(q_at);
        here.k_positions = p.indices(k_at);
        there.q_positions = p.to_gpu(here.q_positions);
        there.k_positions = p.to_gpu(here.k_positions);
    }
    const auto shape_on = [&](const Kernels& k) { return &k == &p.gpu.kernels() ? there : here; };
    const Shape queries{s.batch, s.q_tokens, s.heads * s.head_dim};
    const Shape keys{s.batch, s.k_tokens, s.kv_heads * s.head_dim};
    const Tensor q = p.random(queries, dtype), k = p.random(keys, dtype), v = p.random(keys, dtype);
    const Tensor o = p.random(queries, dtype), lse = p.random({s.batch, s.heads, s.q_tokens});
    CHECK(p.distance_of({o, lse, q, k, v}, [&](const Kernels& kernels, const auto& t) {
        kernels.attention_forward(t[0], t[1], t[2], t[3], t[4], shape_on(kernels));
    }) <= tolerance(dtype));

    p.cpu->kernels().attention_forward(o, lse, q, k, v, here);
    const Tensor dout = p.random(queries, dtype);
    const Tensor dq = p.random(queries, dtype), dk = p.random(keys, dtype), dv = p.random(keys, dtype);
    CHECK(p.distance_of({dq, dk, dv, dout, q, k, v, o, lse}, [&](const Kernels& kernels, const auto& t) {
        kernels.attention_backward(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], shape_on(kernels));
    }) <= 2 * tolerance(dtype));
}

}  // namespace

TEST_CASE("norms of the GPU agree with the reference", "[device]") {
    GpuPair p;
    for (const auto& [rows, width] : kRows)
        for (const DType dtype : kFloats)
            for (const bool accumulate : {false, true}) {
                CAPTURE(rows, width, name(dtype), accumulate);
                const Tensor x = p.random({rows, width}, dtype), y = p.random({rows, width}, dtype);
                const Tensor w = p.random({width}, dtype), b = p.random({width}, dtype);
                Tensor mean = p.random({rows}), rstd = p.random({rows});
                const double most = 2 * tolerance(dtype);
                CHECK(p.distance_of({y, mean, rstd, x, w, b}, [](const Kernels& k, const auto& t) {
                    k.layer_norm_forward(t[0], t[1], t[2], t[3], t[4], t[5], 1e-5);
                }) <= most);
                CHECK(p.distance_of({y, rstd, x, w}, [](const Kernels& k, const auto& t) {
                    k.rms_norm_forward(t[0], t[1], t[2], t[3], 1e-6);
                }) <= most);
                p.cpu->kernels().layer_norm_forward(p.random({rows, width}, dtype), mean, rstd, x, w, {},
                                                    1e-5);
                CHECK(p.distance_of({y, x, mean, rstd, w}, [](const Kernels& k, const auto& t) {
                    k.layer_norm_input_grad(t[0], t[0], t[1], t[2], t[3], t[4]);
                }) <= most);
                CHECK(p.distance_of({y, x, rstd, w}, [](const Kernels& k, const auto& t) {
                    k.rms_norm_input_grad(t[0], t[0], t[1], t[2], t[3]);
                }) <= most);
                // Sums over up to 390 rows, in three slices.
                CHECK(p.distance_of({w, b, y, x, mean, rstd}, [=](const Kernels& k, const auto& t) {
                    k.layer_norm_weight_grad(t[0], t[1], t[2], t[3], t[4], t[5], accumulate);
                }) <= most);
                CHECK(p.distance_of({w, y, x, mean, rstd}, [=](const Kernels& k, const auto& t) {
                    k.layer_norm_weight_grad(t[0], {}, t[1], t[2], t[3], t[4], accumulate);
                }) <= most);
                CHECK(p.distance_of({w, y, x, rstd}, [=](const Kernels& k, const auto& t) {
                    k.rms_norm_weight_grad(t[0], t[1], t[2], t[3], accumulate);
                }) <= most);
            }
}

TEST_CASE("rotary of the GPU agrees with the reference, in order, from a place, by positions, and back",
          "[device]") {
    GpuPair p;
    for (const DType dtype : kFloats)
        for (const bool inverse : {false, true})
            for (const int64_t tokens : {0, 1, 9}) {
                tensor::RotaryShape shape{2, tokens, 3, 6, 10000.0, 5};
                shape.halves = inverse;
                shape.scaling.kind = static_cast<tensor::RopeScaling::Kind>(tokens % 8);  // none, linear
                if (tokens == 9 && inverse) shape.scaling.kind = tensor::RopeScaling::Kind::llama3;
                shape.scaling.factor = 3.0;
                const Tensor x = p.random({2, tokens, 18}, dtype);
                CHECK(p.distance_of({x, x}, [=](const Kernels& k, const auto& t) {
                    k.rotary(t[0], t[1], shape, inverse);
                }) <= tolerance(dtype));
                std::vector<int64_t> holes;
                for (int64_t i = 0; i < tokens; ++i) holes.push_back(7 * i % 5 + 100 * i);
                const Tensor positions = p.indices(holes), there = p.to_gpu(positions);
                CHECK(p.distance_of({x}, [&](const Kernels& k, const auto& t) {
                    shape.positions = &k == &p.gpu.kernels() ? there : positions;
                    k.rotary(t[0], t[0], shape, inverse);
                }) <= tolerance(dtype));
            }
    CHECK(test::thrown_id<InvalidArgument>([&] {
              p.gpu.kernels().rotary(p.to_gpu(p.random({3})), p.to_gpu(p.random({3})), {1, 1, 1, 3}, false);
          }) == "kernel.shape");
}

TEST_CASE("attention of the GPU agrees with the reference, forward and backward", "[device]") {
    GpuPair p;
    for (const Heads& s : kHeads)
        for (const bool causal : {false, true})
            for (const DType dtype : kFloats) {
                CAPTURE(s.batch, s.q_tokens, s.k_tokens, s.heads, s.kv_heads, s.head_dim, causal,
                        name(dtype));
                check_attention(p, s, causal, dtype, {}, {});
                if (causal)
                    for (const int64_t window : {3, 40}) check_attention(p, s, causal, dtype, {}, {}, window);
            }
}

TEST_CASE("attention of the GPU goes by positions, and rows that see no key are zero", "[device]") {
    GpuPair p;
    // Zigzag places of context parallel; the first queries stand before all keys.
    std::vector<int64_t> q_at, k_at;
    for (int64_t i = 0; i < 20; ++i) q_at.push_back(i < 10 ? i : 60 + i);
    for (int64_t i = 0; i < 37; ++i) k_at.push_back(i % 2 == 0 ? 12 + i : 90 - i);
    for (const DType dtype : kFloats)
        for (const int64_t window : {0, 9})
            check_attention(p, {2, 20, 37, 4, 2, 8}, true, dtype, q_at, k_at, window);
}

TEST_CASE("ring attention's merge on the GPU agrees with the reference, also where one side saw nothing",
          "[device]") {
    GpuPair p;
    const AttentionShape shape = shape_of({2, 3, 3, 2, 2, 40}, false);
    const Tensor o = p.random({2, 3, 80}), block_o = p.random({2, 3, 80});
    const Tensor lse = p.random({2, 2, 3}), block_lse = p.random({2, 2, 3});
    const float nothing = -std::numeric_limits<float>::infinity();
    lse.data<float>()[1] = block_lse.data<float>()[4] = nothing;
    lse.data<float>()[7] = block_lse.data<float>()[7] = nothing;
    CHECK(p.distance_of({o, lse, block_o, block_lse}, [&](const Kernels& k, const auto& t) {
        k.attention_merge(t[0], t[1], t[2], t[3], shape);
    }) <= 1e-6);
}

TEST_CASE("a head wider than the GPU's kernels take is refused before anything runs", "[device]") {
    GpuPair p;
    const AttentionShape shape = shape_of({1, 2, 2, 1, 1, 257}, true);
    const Tensor x = p.to_gpu(p.random({1, 2, 257})), lse = p.to_gpu(p.random({1, 1, 2}));
    CHECK(test::thrown_id<InvalidArgument>(
              [&] { p.gpu.kernels().attention_forward(x, lse, x, x, x, shape); }) == "gpu.head_dim");
}

TEST_CASE("embedding of the GPU agrees with the reference, whole and by parts, rows named twice included",
          "[device]") {
    GpuPair p;
    for (const auto& [n, rows, width] :
         {std::array<int64_t, 3>{0, 5, 3}, {1, 1, 1}, {40, 7, 33}, {9, 100, 300}})
        for (const DType dtype : kFloats)
            for (const bool accumulate : {false, true}) {
                CAPTURE(n, rows, width, name(dtype), accumulate);
                const Tensor table = p.random({rows, width}, dtype), y = p.random({n, width}, dtype);
                const Tensor at = p.random_indices(n, rows), elsewhere = p.random_indices(n, 3 * rows);
                CHECK(p.distance_of({y, table, at}, [](const Kernels& k, const auto& t) {
                    k.embedding_forward(t[0], t[1], t[2]);
                }) == 0.0);
                CHECK(p.distance_of({y, table, elsewhere}, [rows = rows](const Kernels& k, const auto& t) {
                    k.embedding_part_forward(t[0], t[1], t[2], rows);
                }) == 0.0);
                CHECK(p.distance_of({table, y, at}, [=](const Kernels& k, const auto& t) {
                    k.embedding_backward(t[0], t[1], t[2], accumulate);
                }) <= 2 * tolerance(dtype));
                CHECK(p.distance_of({table, y, elsewhere}, [=, rows = rows](const Kernels& k, const auto& t) {
                    k.embedding_part_backward(t[0], t[1], t[2], rows, accumulate);
                }) <= 2 * tolerance(dtype));
            }
}

TEST_CASE("cross-entropy of the GPU agrees with the reference, whole and by parts", "[device]") {
    GpuPair p;
    for (const auto& [rows, classes] : kRows)
        for (const DType dtype : kFloats) {
            CAPTURE(rows, classes, name(dtype));
            const Tensor logits = p.random({rows, classes}, dtype, 5.0F);
            const Tensor loss = p.random({1}, dtype), lse = p.random({rows});
            const Tensor largest = p.random({rows}), sums = p.random({rows}), picked = p.random({rows});
            const Tensor targets = p.random_indices(rows, classes);
            const Tensor elsewhere = p.random_indices(rows, 3 * classes);
            for (const Tensor& some : {targets, elsewhere})  // the first row counts nothing
                if (rows > 1) some.data<int64_t>()[0] = tensor::kIgnoredTarget;
            const double most = 2 * tolerance(dtype);
            const auto divisor = static_cast<double>(rows);
            CHECK(p.distance_of({loss, lse, logits, targets}, [=](const Kernels& k, const auto& t) {
                k.cross_entropy_forward(t[0], t[1], t[2], t[3], divisor);
            }) <= most);
            CHECK(p.distance_of({largest, sums, picked, logits, elsewhere},
                                [first = classes](const Kernels& k, const auto& t) {
                                    k.row_max(t[0], t[3]);
                                    k.row_sum_exp(t[1], t[3], t[0]);
                                    k.pick_targets(t[2], t[3], t[4], first);
                                }) <= 1e-5);
            p.cpu->kernels().row_max(largest, logits);
            p.cpu->kernels().row_sum_exp(sums, logits, largest);
            CHECK(p.distance_of({loss, lse, largest, sums, picked, elsewhere},
                                [=](const Kernels& k, const auto& t) {
                                    k.cross_entropy_of_parts(t[0], t[1], t[2], t[3], t[4], t[5], divisor);
                                }) <= most);
            // A loss in float32 of logits in bfloat16, too.
            for (const DType of_loss : {dtype, DType::float32}) {
                const Tensor seed = p.random({1}, of_loss);
                p.cpu->kernels().cross_entropy_forward(seed, lse, logits, targets, divisor);
                CHECK(p.distance_of({logits, seed, lse, targets}, [=](const Kernels& k, const auto& t) {
                    k.cross_entropy_backward(t[0], t[1], t[0], t[2], t[3], divisor);
                }) <= tolerance(dtype));
                CHECK(p.distance_of({logits, seed, lse, elsewhere}, [=, first = classes](const Kernels& k,
                                                                                         const auto& t) {
                    k.cross_entropy_part_backward(t[0], t[1], t[0], t[2], t[3], first, divisor);
                }) <= tolerance(dtype));
            }
        }
}

TEST_CASE("the largest of a row is NaN where one is, and minus infinity where there is none", "[device]") {
    GpuPair p;
    Tensor logits = p.random({3, 40});
    logits.data<float>()[45] = std::nanf("");
    CHECK(p.distance_of({p.random({3}), logits},
                        [](const Kernels& k, const auto& t) { k.row_max(t[0], t[1]); }) == 0.0);
    CHECK(p.distance_of({p.random({3}), p.random({3, 0})},
                        [](const Kernels& k, const auto& t) { k.row_max(t[0], t[1]); }) == 0.0);
}
