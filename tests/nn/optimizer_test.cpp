#include "core/nn/optim/optimizer.h"

#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/nn/optim/clip.h"
#include "tests/nn/bench.h"
#include "tests/test.h"

using namespace meshscope;
using namespace meshscope::nn;
using meshscope::test::Bench;

namespace {

/// PyTorch's rules for one number, in double, straight from the documentation of torch.optim.
struct ByHand {
    double value;
    double m = 0.0;
    double v = 0.0;
    int t = 0;

    void sgd(double g, double lr, double momentum) {
        m = t++ == 0 ? g : momentum * m + g;
        value -= lr * m;
    }
    void adam(double g, double lr, double decay, bool decoupled) {
        ++t;
        if (decoupled) value -= lr * decay * value;
        if (!decoupled) g += decay * value;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double m_hat = m / (1.0 - std::pow(0.9, t));
        const double v_hat = v / (1.0 - std::pow(0.999, t));
        value -= lr * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
};

/// Ten steps of the optimizer beside the rule by hand, over 7 numbers with fresh gradients.
void check_against_hand(const OptimizerSpec& spec, const std::function<void(ByHand&, double)>& rule) {
    Bench bench;
    const Tensor value = bench.random({7}, 1, MemoryCategory::parameters);
    std::vector<ByHand> hands;
    for (const float x : value.data<float>()) hands.push_back({x});
    Optimizer optimizer(spec, {{"w", value}}, bench.allocator);
    for (uint64_t step = 0; step < 10; ++step) {
        const std::vector<Tensor> grads{bench.random({7}, 10 + step)};
        optimizer.step(grads);
        for (std::size_t i = 0; i < 7; ++i) rule(hands[i], grads[0].data<float>()[i]);
        for (std::size_t i = 0; i < 7; ++i)
            CHECK(value.data<float>()[i] == Approx(hands[i].value).epsilon(1e-5).margin(1e-6));
    }
}

}  // namespace

TEST_CASE("SGD, with and without momentum, follows PyTorch's rule") {
    check_against_hand({"sgd", 0.1, 0.0, 0, 0, 0, 0.0}, [](ByHand& x, double g) { x.sgd(g, 0.1, 0.0); });
    check_against_hand({"sgd", 0.05, 0.9, 0, 0, 0, 0.0}, [](ByHand& x, double g) { x.sgd(g, 0.05, 0.9); });
}

TEST_CASE("Adam adds its decay to the gradient, AdamW shrinks the value") {
    check_against_hand({"adam", 0.01, 0, 0.9, 0.999, 1e-8, 0.0},
                       [](ByHand& x, double g) { x.adam(g, 0.01, 0.0, false); });
    check_against_hand({"adam", 0.01, 0, 0.9, 0.999, 1e-8, 0.1},
                       [](ByHand& x, double g) { x.adam(g, 0.01, 0.1, false); });
    check_against_hand({"adamw", 0.01, 0, 0.9, 0.999, 1e-8, 0.1},
                       [](ByHand& x, double g) { x.adam(g, 0.01, 0.1, true); });
}

TEST_CASE("Adam's first step is lr, whatever the gradient's size: eps stands outside the root") {
    // m̂ = g and √v̂ = |g|, so the step is lr·g/(|g| + eps): for g = 1e-8 exactly half of lr. With eps under
    // the root it would be next to nothing.
    Bench bench;
    const Tensor value = bench.allocator.zeros({2}, DType::float32, MemoryCategory::parameters, "w");
    Optimizer optimizer({"adam", 0.1, 0, 0.9, 0.999, 1e-8, 0.0}, {{"w", value}}, bench.allocator);
    const std::vector<Tensor> grads{
        bench.allocator.of(std::vector<float>{-300.0F, 1e-8F}, {2}, MemoryCategory::gradients, "g")};
    optimizer.step(grads);
    CHECK(value.data<float>()[0] == Approx(0.1));
    CHECK(value.data<float>()[1] == Approx(-0.05));
}

TEST_CASE("the state is made in the first step, named and in its category") {
    const auto state_after_a_step = [](const OptimizerSpec& spec) {
        Bench bench;
        const Tensor value = bench.random({3, 2}, 1, MemoryCategory::parameters);
        Optimizer optimizer(spec, {{"w", value}}, bench.allocator, &bench.recorder);
        const std::vector<Tensor> grads{bench.random({3, 2}, 2, MemoryCategory::gradients)};
        bench.memory.lines.clear();
        CHECK(bench.memory.lines.empty());
        optimizer.step(grads);
        optimizer.step(grads);
        CHECK(bench.events() == std::vector<std::string>{spec.kind + " ", spec.kind + " "});
        for (const auto& [id, entry] : bench.memory.alive)
            if (entry.category == MemoryCategory::optimizer_state) CHECK(entry.bytes == 24);
        return bench.memory.lines;
    };
    CHECK(state_after_a_step({"sgd"}).empty());
    CHECK(state_after_a_step({"sgd", 0.1, 0.9}) == std::vector<std::string>{"+w momentum"});
    CHECK(state_after_a_step({"adam"}) == std::vector<std::string>{"+w exp_avg", "+w exp_avg_sq"});
    CHECK(state_after_a_step({"adamw"}) == std::vector<std::string>{"+w exp_avg", "+w exp_avg_sq"});
}

TEST_CASE("an array cut in parts, one of them empty, is trained as the whole") {
    for (const std::string kind : {"sgd", "adam", "adamw"}) {
        CAPTURE(kind);
        Bench bench;
        const OptimizerSpec spec{kind, 0.1, 0.9, 0.9, 0.999, 1e-8, 0.01};
        const Tensor whole = bench.random({5, 3}, 1, MemoryCategory::parameters);
        const Tensor parts = bench.allocator.clone(whole, MemoryCategory::sharded_parameters, "parts");
        Optimizer one(spec, {{"w", whole}}, bench.allocator);
        Optimizer three(spec,
                        {{"w", parts.narrow(0, 3)}, {"w", parts.narrow(3, 2)}, {"w", parts.narrow(5, 0)}},
                        bench.allocator);
        for (uint64_t step = 0; step < 3; ++step) {
            const Tensor grad = bench.random({5, 3}, 5 + step);
            one.step(std::vector<Tensor>{grad});
            three.step(std::vector<Tensor>{grad.narrow(0, 3), grad.narrow(3, 2), grad.narrow(5, 0)});
        }
        for (std::size_t i = 0; i < 15; ++i) CHECK(parts.data<float>()[i] == whole.data<float>()[i]);
    }
}

TEST_CASE("an array without a gradient stays, and counts no step") {
    Bench bench;
    const Tensor a = bench.random({2}, 1, MemoryCategory::parameters);
    const Tensor b = bench.allocator.zeros({1}, DType::float32, MemoryCategory::parameters, "b");
    const float before = a.data<float>()[1];
    Optimizer optimizer({"adam", 0.1}, {{"a", a}, {"b", b}}, bench.allocator);
    const Tensor one = bench.allocator.of(std::vector<float>{1.0F}, {1}, MemoryCategory::gradients, "g");
    for (int step = 0; step < 5; ++step) optimizer.step(std::vector<Tensor>{Tensor(), one});
    CHECK(a.data<float>()[1] == before);
    optimizer.step(std::vector<Tensor>{bench.random({2}, 2), one});
    CHECK(std::abs(a.data<float>()[1] - before) == Approx(0.1).epsilon(1e-4));  // Adam's first step
}

TEST_CASE("wrong uses are refused") {
    Bench bench;
    CHECK_THROWS_AS(Optimizer({"adamax"}, {}, bench.allocator), InvalidArgument);
    Optimizer optimizer({"sgd"}, {{"w", bench.random({2}, 1)}}, bench.allocator);
    CHECK_THROWS_AS(optimizer.step(std::vector<Tensor>{}), InvalidArgument);
    CHECK_THROWS_AS(optimizer.step(std::vector<Tensor>{bench.random({3}, 1)}), InvalidArgument);
}

TEST_CASE("the global norm is over all gradients, and clipping scales them all by one factor") {
    Bench bench;
    const Tensor a = bench.allocator.of(std::vector<float>{3.0F, 0.0F}, {2}, MemoryCategory::gradients, "a");
    const Tensor b = bench.allocator.of(std::vector<float>{4.0F}, {1}, MemoryCategory::gradients, "b");
    const std::vector<Tensor> grads{a, Tensor(), b};
    const double norm = std::sqrt(sum_of_squares(grads, bench.allocator, &bench.recorder));
    CHECK(norm == 5.0);
    CHECK(clip_coefficient(5.0, 10.0) == 1.0);
    CHECK(clip_coefficient(5.0, 1.0) == Approx(1.0 / 5.000001).epsilon(1e-12));
    CHECK(clip_coefficient(0.0, 1.0) == 1.0);
    CHECK(std::isnan(clip_coefficient(std::nan(""), 1.0)));
    clip_gradients(grads, norm, 1.0, bench.allocator, &bench.recorder);
    CHECK(a.data<float>()[0] == Approx(3.0 / 5.000001));
    CHECK(b.data<float>()[0] == Approx(4.0 / 5.000001));
    CHECK(bench.events() == std::vector<std::string>{"grad_norm ", "clip "});
}
