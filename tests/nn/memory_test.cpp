// What is alive when: the tape keeps what backward needs and nothing else.
#include "core/nn/layers/activation.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "tests/nn/bench.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;
using Lines = std::vector<std::string>;

namespace {
int64_t bytes_of(const Bench& bench, MemoryCategory category) {
    int64_t bytes = 0;
    for (const auto& [id, entry] : bench.memory.alive)
        if (entry.category == category) bytes += entry.bytes;
    return bytes;
}

Lines labels_of(const Bench& bench, MemoryCategory category) {
    Lines labels;
    for (const auto& [id, entry] : bench.memory.alive)
        if (entry.category == category) labels.push_back(entry.label);
    return labels;
}
}  // namespace

TEST_CASE("after toy's forward only what backward needs is alive") {
    // ReLU keeps its output, which is also net2's input; mse keeps the prediction. net1's output is gone.
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    const Tensor x = bench.random({8, 10}, 1);
    const Tensor y = bench.random({8, 5}, 2);
    bench.memory.lines.clear();
    Tape tape(bench.allocator, nullptr);
    const Variable loss = model->loss(tape, x, y);
    CHECK(bench.memory.lines ==
          Lines{"+net1 output", "+relu output", "-net1 output", "+net2 output", "+loss"});
    CHECK(bytes_of(bench, MemoryCategory::activations) == 4 * (8 * 10 + 8 * 5 + 1));
    tape.backward(loss);
    CHECK(labels_of(bench, MemoryCategory::activations) == Lines{"loss"});
    CHECK(bytes_of(bench, MemoryCategory::gradients) == 4 * (100 + 10 + 50 + 5));
    CHECK(labels_of(bench, MemoryCategory::gradients) ==
          Lines{"net2.bias grad", "net2.weight grad", "net1.bias grad", "net1.weight grad"});
}

TEST_CASE("backward frees each activation as soon as its node has run") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    const Tensor x = bench.random({8, 10}, 1);
    const Tensor y = bench.random({8, 5}, 2);
    Tape tape(bench.allocator, nullptr);
    const Variable loss = model->loss(tape, x, y);
    bench.memory.lines.clear();
    tape.backward(loss);
    CHECK(bench.memory.lines == Lines{"+loss grad", "+mse input grad", "-loss grad", "-net2 output",
                                      "+net2.bias grad", "+net2.weight grad", "+net2 input grad",
                                      "-mse input grad", "+relu input grad", "-net2 input grad",
                                      "-relu output", "+net1.bias grad", "+net1.weight grad",
                                      "-relu input grad"});
}

TEST_CASE("an mlp layer keeps its input, gelu's input and gelu's output: (dim + 2·hidden) a row and layer") {
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 3});
    bench.fill(*model);
    const Tensor x = bench.random({4, 8}, 1);
    const Tensor y = bench.random({4, 8}, 2);
    Tape tape(bench.allocator, nullptr);
    const Variable loss = model->loss(tape, x, y);
    // Layer 0's input is the batch itself; the last sum is kept by mse instead of a layer.
    CHECK(bytes_of(bench, MemoryCategory::activations) == 4 * (4 * (3 * (8 + 2 * 16)) + 1));
    tape.backward(loss);
    CHECK(labels_of(bench, MemoryCategory::activations) == Lines{"loss"});
}

TEST_CASE("a tape that is dropped after forward leaves nothing behind") {
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 2});
    bench.fill(*model);
    const Tensor x = bench.random({4, 8}, 1);
    const Tensor y = bench.random({4, 8}, 2);
    const int64_t before = bench.memory.live_bytes;
    {
        Tape tape(bench.allocator, nullptr);
        model->loss(tape, x, y);
    }
    CHECK(bench.memory.live_bytes == before);
}

TEST_CASE("a second pass adds into the gradients in place and keeps no second copy") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    const Tensor x = bench.random({8, 10}, 1);
    const Tensor y = bench.random({8, 5}, 2);
    for (int pass = 0; pass < 2; ++pass) {
        Tape tape(bench.allocator, nullptr);
        tape.backward(model->loss(tape, x, y));
    }
    CHECK(bytes_of(bench, MemoryCategory::gradients) == 4 * 165);
}
