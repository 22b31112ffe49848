// Every layer and both models against finite differences.
#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/nn/layers/activation.h"
#include "core/nn/layers/linear.h"
#include "core/nn/layers/loss.h"
#include "core/tensor/kernels.h"
#include "tests/nn/bench.h"
#include "tests/nn/slopes.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;
using meshscope::test::check_layer;
using meshscope::test::check_slopes;
using meshscope::test::slope;

namespace {

void check_model(const ModelSpec& spec, int64_t batch) {
    Bench bench;
    const auto model = make_model(spec);
    bench.fill(*model);
    const Tensor x = bench.random(model->input_shape(batch), 1);
    const Tensor y = bench.random(model->target_shape(batch), 2);
    test::check_model(*model, x, y, bench);
}

}  // namespace

TEST_CASE("Linear has the gradient of its formula") {
    Bench bench;
    Parameter weight{0, "w", {3, 4}, 4, bench.random({3, 4}, 1), {}};
    Parameter bias{1, "b", {3}, 4, bench.random({3}, 2), {}};
    Linear with_bias("l", &weight, &bias);
    check_layer([&](Tape& t, Variable x) { return with_bias.forward(t, x); }, bench.random({5, 4}, 3),
                bench.random({5, 3}, 4), {&weight, &bias}, bench);
    weight.grad = Tensor();
    Linear without("l", &weight, nullptr);
    check_layer([&](Tape& t, Variable x) { return without.forward(t, x); }, bench.random({5, 4}, 3),
                bench.random({5, 3}, 4), {&weight}, bench);
}

TEST_CASE("ReLU, GELU and the residual sum have the gradients of their formulas") {
    Bench bench;
    const Tensor target = bench.random({4, 5}, 4);
    // ReLU's slope does not exist at 0: keep the inputs away from it.
    const Tensor x = bench.random({4, 5}, 3);
    for (float& number : x.data<float>())
        if (std::abs(number) < 0.05F) number = 0.5F;
    check_layer([](Tape& t, Variable v) { return relu(t, v); }, x, target, {}, bench);
    check_layer([](Tape& t, Variable v) { return gelu_tanh(t, v); }, x, target, {}, bench);
    check_layer([](Tape& t, Variable v) { return gelu(t, v); }, x, target, {}, bench);
    check_layer([](Tape& t, Variable v) { return scale(t, v, -1.5F); }, x, target, {}, bench);
    check_layer([](Tape& t, Variable v) { return multiply(t, v, gelu(t, v)); }, x, target, {}, bench);
    check_layer([](Tape& t, Variable v) { return add(t, v, gelu_tanh(t, v)); }, x, target, {}, bench);
    check_layer([](Tape& t, Variable v) { return add(t, v, v); }, x, target, {}, bench);
    check_layer([](Tape&, Variable v) { return v; }, x, target, {}, bench);  // mse alone
}

TEST_CASE("toy's gradients are the slopes of its loss") {
    check_model({"toy", 0, 0, 0}, 3);
}
TEST_CASE("mlp's gradients are the slopes of its loss") {
    check_model({"mlp", 4, 6, 3}, 3);
}

TEST_CASE("an mlp's gradients through batch norm are the slopes of its loss") {
    ModelSpec spec{"mlp", 4, 6, 2};
    spec.norm = Norm::batch;
    Bench bench;
    const auto model = make_model(spec);
    bench.fill(*model);
    for (const auto& buffer : model->buffers()) {
        buffer->value =
            bench.allocator.empty(buffer->shape, buffer->dtype, MemoryCategory::parameters, buffer->name);
        bench.allocator.device().kernels().zero(buffer->value);
    }
    test::check_model(*model, bench.random({7, 4}, 1), bench.random({7, 4}, 2), bench);
}

TEST_CASE("a parameter used twice gets both gradients") {
    Bench bench;
    Parameter weight{0, "w", {4, 4}, 4, bench.random({4, 4}, 1), {}};
    Linear layer("l", &weight, nullptr);
    int ready = 0;
    Tape tape(bench.allocator, nullptr);
    tape.on_gradient_ready([&](Parameter& p) {
        ++ready;
        CHECK(&p == &weight);
    });
    const Tensor x = bench.random({2, 4}, 2);
    const Tensor y = bench.random({2, 4}, 3);
    const auto run = [&](Tape& t) { return mse(t, layer.forward(t, layer.forward(t, t.input(x))), y); };
    tape.backward(run(tape));
    CHECK(ready == 1);
    check_slopes(weight.value, weight.grad, [&] {
        Tape again(bench.allocator, nullptr);
        return static_cast<double>(again.value(run(again)).data<float>()[0]);
    });
}

TEST_CASE("gradients add up over passes, scaled by the seed") {
    Bench bench;
    const auto model = make_model({"toy", 0, 0, 0});
    bench.fill(*model);
    const Tensor x = bench.random(model->input_shape(4), 1);
    const Tensor y = bench.random(model->target_shape(4), 2);
    const auto pass = [&](float seed) {
        Tape tape(bench.allocator, nullptr);
        tape.backward(model->loss(tape, x, y), seed);
    };
    pass(1.0F);
    std::vector<std::vector<float>> once;
    for (const auto& p : model->all_parameters()) {
        once.emplace_back(p->grad.data<float>().begin(), p->grad.data<float>().end());
        p->grad = Tensor();
    }
    pass(0.5F);
    pass(0.25F);
    for (std::size_t i = 0; i < once.size(); ++i)
        for (std::size_t j = 0; j < once[i].size(); ++j)
            CHECK(model->all_parameters()[i]->grad.data<float>()[j] ==
                  Approx(0.75 * once[i][j]).margin(1e-7));
}

TEST_CASE("two micro-batches of half the size, each loss halved, have the gradient of the whole batch") {
    Bench bench;
    const auto model = make_model({"mlp", 4, 6, 2});
    bench.fill(*model);
    const Tensor x = bench.random(model->input_shape(4), 1);
    const Tensor y = bench.random(model->target_shape(4), 2);
    const auto gradient = [&](int parts) {
        for (const auto& p : model->all_parameters()) p->grad = Tensor();
        for (int i = 0; i < parts; ++i) {
            Tape tape(bench.allocator, nullptr);
            const int64_t rows = 4 / parts;
            tape.backward(model->loss(tape, x.narrow(i * rows, rows), y.narrow(i * rows, rows)),
                          1.0F / static_cast<float>(parts));
        }
        std::vector<float> all;
        for (const auto& p : model->all_parameters())
            all.insert(all.end(), p->grad.data<float>().begin(), p->grad.data<float>().end());
        return all;
    };
    const auto whole = gradient(1);
    const auto halves = gradient(2);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(halves[i] == Approx(whole[i]).margin(1e-6));
}

TEST_CASE("first values lie in ±1/√fan_in, and any rank draws its part alone") {
    const auto model = make_model({"mlp", 16, 64, 1});
    const Parameter& up = *model->all_parameters()[0];
    const Parameter& down_bias = *model->all_parameters()[3];
    CHECK(up.name == "layers.0.up.weight");
    CHECK(down_bias.name == "layers.0.down.bias");
    std::vector<float> all(1024);
    draw_initial(up, 5, 0, all);
    double squares = 0.0;
    for (const float v : all) {
        CHECK(std::abs(v) <= 0.25F);
        squares += static_cast<double>(v) * v;
    }
    // The variance of uniform ±1/4 is 1/48; five standard deviations of its estimate.
    CHECK(squares / 1024 == Approx(1.0 / 48).epsilon(5 * 0.894 / 32));
    std::vector<float> part(100);
    draw_initial(up, 5, 300, part);
    CHECK(std::equal(part.begin(), part.end(), all.begin() + 300));
    std::vector<float> bias(16);
    draw_initial(down_bias, 5, 0, bias);
    for (const float v : bias) CHECK(std::abs(v) <= 0.125F);
}

TEST_CASE("a model that cannot be is refused") {
    CHECK_THROWS_AS(make_model({"gtp", 0, 0, 0}), InvalidArgument);
    CHECK_THROWS_AS(make_model({"mlp", 4, 0, 1}), InvalidArgument);
}
