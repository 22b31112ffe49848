// What kernels.def declares holds on every device, the dry one too; and what calls cost is counted.
#include <string>
#include <utility>

#include "core/tensor/dry_device.h"
#include "tests/tensor/kernel_pair.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::tensor;

TEST_CASE("a dry device refuses what a real one refuses, and computes nothing") {
    Pair p;
    const std::unique_ptr<Device> dry = make_dry_device();
    const Tensor x = p.of({1, 2, 3, 4, 5, 6}, {2, 3}), w = p.of({1, 1, 1, 2, 2, 2}, {2, 3});
    const Tensor y = p.of({9, 9, 9, 9}, {2, 2});
    dry->kernels().linear_forward(y, x, w, {});
    CHECK(y.data<float>()[0] == 9.0F);
    std::vector<float> numbers{7, 7};
    dry->kernels().download(numbers, p.random({2}));
    CHECK(numbers == std::vector<float>{0, 0});
    for (const Kernels* k : {&p.fast, &p.plain, &dry->kernels()}) {
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_forward(y, w, p.random({3, 2}), {});
              }) == "kernel.shape");
        // As many rows, but not the same ones.
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->linear_forward(p.random({3, 2, 2}), p.random({2, 3, 3}), w, {});
              }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] { k->zero(Tensor()); }) == "kernel.shape");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->add(y, y, p.indices({1, 2, 3, 4}));
              }) == "tensor.wrong_dtype");
        CHECK(test::thrown_id<InvalidArgument>([&] {
                  k->copy(p.random({2}), p.indices({1, 2}));
              }) == "tensor.wrong_dtype");
        SgdStep step;
        step.momentum = 0.9;
        CHECK(test::thrown_id<InvalidArgument>([&] { k->sgd_step(y, y, {}, step); }) == "kernel.shape");
        // Statistics are 2 · D + 1 numbers.
        CHECK(test::thrown_id<InvalidArgument>([&] { k->batch_norm_stats(p.random({4}), x, 1e-5); }) ==
              "kernel.shape");
        AttentionShape holes{
            .batch = 1, .q_tokens = 2, .k_tokens = 2, .heads = 1, .kv_heads = 1, .head_dim = 2};
        holes.k_positions = p.indices({0, 1, 2});
        CHECK(test::thrown_id<InvalidArgument>(
                  [&] { k->attention_forward(y, p.random({2}), y, y, y, holes); }) == "kernel.shape");
    }
}

TEST_CASE("operands for the record are shown by name: what is read before the call, what is written after") {
    struct Sink final : OperandSink {
        void operand(std::string_view name, const Tensor& tensor, bool written) override {
            seen += std::string(written ? ">" : "<") + std::string(name) + " ";
            for (const float number : tensor.data<float>())
                seen += std::to_string(static_cast<int>(number)) + " ";
        }
        std::string seen;
    } sink;
    Pair p;
    const Kernels k = p.fast.showing(sink);
    const auto said = [&] { return std::exchange(sink.seen, ""); };
    const Tensor x = p.of({1, 2}, {1, 2}), w = p.of({3, 4}, {1, 2}), y = p.of({0}, {1, 1});
    k.linear_forward(y, x, w, {});
    CHECK(said() == "<x 1 2 <weight 3 4 >y 11 ");
    k.linear_forward(y, x, w, p.of({5}, {1}));
    CHECK(said() == "<x 1 2 <weight 3 4 <bias 5 >y 16 ");
    // In place: what it held before, then what it holds.
    const Tensor z = p.of({-1, 1}, {2});
    k.relu_forward(z, z);
    CHECK(said() == "<x -1 1 >y 0 1 ");
    // A gradient is read only where it is added to.
    k.linear_bias_grad(w.flat(), x, false);
    CHECK(said() == "<dy 1 2 >db 1 2 ");
    k.linear_bias_grad(w.flat(), x, true);
    CHECK(said() == "<db 1 2 <dy 1 2 >db 2 4 ");
    // What moves numbers, what optimizers do, and figures of rows are not for the record.
    k.copy(w, x);
    k.sgd_step(w, x, {}, SgdStep{});
    CHECK(said().empty());
    k.rms_norm_forward(p.of({0, 0}, {1, 2}), p.of({0}, {1}), p.of({1, 1}, {1, 2}), p.of({2, 3}, {2}), 0);
    CHECK(said() == "<x 1 1 <weight 2 3 >y 2 3 ");
}

TEST_CASE("calls count their operations and bytes, and the dtype of the one that computes most") {
    Pair p;
    KernelCost cost;
    const Kernels k = p.fast.counting(cost);
    const Tensor x = p.random({8, 10}), w = p.random({5, 10}), y = p.random({8, 5});
    k.linear_forward(y, x, w, p.random({5}));
    CHECK(cost.operations == 2 * 8 * 10 * 5);
    CHECK(cost.bytes == 4 * (80 + 50 + 40));
    k.linear_bias_grad(p.random({5}), y, false);
    CHECK(cost.operations == 2 * 8 * 10 * 5 + 40);
    CHECK(cost.bytes == 4 * (80 + 50 + 40) + 4 * (40 + 5));

    KernelCost added;
    p.fast.counting(added).linear_bias_grad(p.random({5}), y, true);
    CHECK(added.bytes == 4 * (40 + 2 * 5));  // what is added to is read first

    KernelCost half;
    const auto narrow = [&](Shape shape) {
        const Tensor t =
            p.allocator.empty(std::move(shape), DType::bfloat16, MemoryCategory::temporaries, "t");
        p.fast.fill(t, 1.0F);
        return t;
    };
    p.fast.counting(half).linear_forward(narrow({8, 5}), narrow({8, 10}), narrow({5, 10}), {});
    p.fast.counting(half).add(y, y, y);
    CHECK(half.dtype == DType::bfloat16);
    CHECK(half.bytes == 2 * (80 + 50 + 40) + 4 * 3 * 40);

    AttentionShape shape{.batch = 2, .q_tokens = 4, .k_tokens = 4, .heads = 3, .kv_heads = 1, .head_dim = 2};
    const Tensor q = p.random({2, 4, 6}), kv = p.random({2, 4, 2}), lse = p.random({2, 3, 4});
    for (const auto& [causal, pairs] : {std::pair(true, 10), std::pair(false, 16)}) {
        KernelCost scores;
        shape.causal = causal;
        p.fast.counting(scores).attention_forward(p.random({2, 4, 6}), lse, q, kv, kv, shape);
        CHECK(scores.operations == 4 * 2 * 3 * pairs * 2);
        CHECK(scores.bytes == 4 * (2 * 48 + 2 * 16));
    }
    KernelCost step;
    SgdStep plain, momentum;
    momentum.momentum = 0.9;
    p.fast.counting(step).sgd_step(y, y, {}, plain);
    CHECK(step.operations == 2 * 40);
    CHECK(step.bytes == 4 * 3 * 40);
    p.fast.counting(step).sgd_step(y, y, p.random({40}), momentum);
    CHECK(step.operations == (2 + 4) * 40);
    CHECK(step.bytes == 4 * (3 + 5) * 40);
}
