// Backward in two halves, and from a gradient that came from elsewhere: what pipeline stages need.
#include "core/base/error.h"
#include "core/nn/layers/activation.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "tests/nn/bench.h"
#include "tests/test.h"
#include "tests/thrown.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;
using Lines = std::vector<std::string>;

namespace {

std::vector<float> numbers(const Tensor& tensor) {
    const auto data = tensor.data<float>();
    return {data.begin(), data.end()};
}

std::vector<std::vector<float>> gradients(const Model& model) {
    std::vector<std::vector<float>> all;
    for (const auto& parameter : model.all_parameters()) all.push_back(numbers(parameter->grad));
    return all;
}

}  // namespace

TEST_CASE("backward in two halves gives bit for bit the gradients of one backward, in the same order") {
    for (const ModelSpec& spec : {ModelSpec{"toy", 0, 0, 0}, ModelSpec{"mlp", 6, 10, 3}}) {
        Bench bench;
        const auto model = make_model(spec);
        bench.fill(*model);
        std::vector<std::vector<std::vector<float>>> results;
        std::vector<Lines> ready;
        for (const bool split : {false, true}) {
            for (const auto& parameter : model->all_parameters()) parameter->grad = {};
            Lines order;
            for (const uint64_t pass : {1, 2}) {  // the second adds to the first
                Tape tape(bench.allocator, nullptr);
                tape.on_gradient_ready([&](Parameter& p) { order.push_back(p.name); });
                const Variable loss = model->loss(tape, bench.random(model->input_shape(4), pass),
                                                  bench.random(model->target_shape(4), pass + 10));
                if (split) {
                    tape.backward_input(loss, 0.5F);
                    CHECK(order.size() == (pass - 1) * model->all_parameters().size());
                    tape.backward_weight();
                } else {
                    tape.backward(loss, 0.5F);
                }
            }
            results.push_back(gradients(*model));
            ready.push_back(order);
        }
        CHECK(results[0] == results[1]);
        CHECK(ready[0] == ready[1]);
        CHECK(ready[0].size() == 2 * model->all_parameters().size());
    }
}

TEST_CASE("the halves run the kernels of their own kind only") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    Tape tape(bench.allocator, &bench.recorder);
    const Variable loss = model->loss(tape, bench.random({8, 10}, 1), bench.random({8, 5}, 2));
    tape.backward_input(loss);
    tape.backward_weight();
    CHECK(bench.events() == Lines{"linear net1", "relu ", "linear net2", "mse ", "mse.backward ",
                                  "linear.input_grad net2", "relu.backward ", "linear.weight_grad net2",
                                  "linear.weight_grad net1"});
}

TEST_CASE("between the halves only layer inputs and their outputs' gradients are alive") {
    Bench bench;
    const auto model = make_model({"mlp", 8, 16, 2});
    bench.fill(*model);
    const Tensor x = bench.random({4, 8}, 1), y = bench.random({4, 8}, 2);
    Tape tape(bench.allocator, nullptr);
    const Variable loss = model->loss(tape, x, y);
    const auto alive = [&] {
        int64_t bytes = 0;
        for (const auto& [id, entry] : bench.memory.alive)
            if (entry.category == MemoryCategory::activations) bytes += entry.bytes;
        return bytes;
    };
    tape.backward_input(loss);
    // A layer: up's input (the first layer's is x, an input), down's input (hidden), the gradients of up's
    // output (hidden) and of down's (dim, shared with the residual stream's); and the loss.
    const int64_t rows = 4, dim = 8, hidden = 16;
    CHECK(alive() == 4 * (rows * (2 * hidden + dim) + rows * (2 * hidden + dim + dim) + 1));
    tape.backward_weight();
    CHECK(alive() == 4);
}

TEST_CASE("two stages joined by an activation and its gradient are one model") {
    Bench bench;
    Parameter w1{0, "w1", {5, 4}, 4, bench.random({5, 4}, 1), {}};
    Parameter w2{1, "w2", {3, 5}, 5, bench.random({3, 5}, 2), {}};
    Linear first("first", &w1, nullptr), second("second", &w2, nullptr);
    const Tensor x = bench.random({2, 4}, 3), y = bench.random({2, 3}, 4);
    {
        Tape whole(bench.allocator, nullptr);
        const Variable hidden = gelu_tanh(whole, first.forward(whole, whole.input(x)));
        whole.backward(mse(whole, second.forward(whole, hidden), y), 0.25F);
    }
    const auto want1 = numbers(w1.grad), want2 = numbers(w2.grad);
    for (const bool split : {false, true}) {
        w1.grad = {};
        w2.grad = {};
        Tape above(bench.allocator, nullptr), below(bench.allocator, nullptr);
        const Variable sent = gelu_tanh(above, first.forward(above, above.input(x)));
        const Variable received = below.leaf(above.value(sent));
        const Variable loss = mse(below, second.forward(below, received), y);
        if (split) {
            below.backward_input(loss, 0.25F);
            above.backward_input(sent, below.grad(received));
            below.backward_weight();
            above.backward_weight();
        } else {
            below.backward(loss, 0.25F);
            above.backward(sent, below.grad(received));
        }
        CHECK(numbers(w1.grad) == want1);
        CHECK(numbers(w2.grad) == want2);
    }
}

TEST_CASE("wrong uses of the halves are refused") {
    Bench bench;
    Tape tape(bench.allocator, nullptr);
    const Variable x = tape.leaf(bench.random({2, 3}, 1));
    const Variable doubled = add(tape, x, x);
    CHECK(test::thrown_id([&] { tape.backward_weight(); }) == "tape.weight_first");
    CHECK(test::thrown_id([&] { tape.backward(doubled, bench.random({3, 2}, 1)); }) == "tape.gradient");
    CHECK(test::thrown_id([&] {
              tape.backward(tape.input(bench.random({2, 3}, 5)), bench.random({2, 3}, 1));
          }) == "tape.loss");
    tape.backward_input(doubled, bench.random({2, 3}, 1));
    CHECK(test::thrown_id([&] {
              tape.backward_input(doubled, bench.random({2, 3}, 1));
          }) == "tape.backward_twice");
    tape.backward_weight();
    CHECK(test::thrown_id([&] { tape.backward_weight(); }) == "tape.weight_first");
}
