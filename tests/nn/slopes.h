#pragma once

#include <functional>
#include <vector>

#include "core/nn/layers/loss.h"
#include "tests/nn/bench.h"
#include "tests/test.h"

namespace meshscope::test {

/// (loss(x + h) - loss(x - h)) / 2h for one number. In float32 with h = 1e-2 the truncation (h²) and the
/// rounding of the loss (eps / h) are both near 1e-4 for values near 1.
inline double slope(float& number, const std::function<double()>& loss) {
    constexpr float kStep = 1e-2F;
    const float before = number;
    number = before + kStep;
    const double up = loss();
    number = before - kStep;
    const double down = loss();
    number = before;
    return (up - down) / (2.0 * kStep);
}

/// Compares a gradient with the slopes at every element of `values`.
inline void check_slopes(const nn::Tensor& values, const nn::Tensor& grad,
                         const std::function<double()>& loss) {
    REQUIRE(grad.defined());
    REQUIRE(grad.shape() == values.shape());
    const auto numbers = values.data<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        CAPTURE(i);
        CHECK(grad.data<float>()[i] == Approx(slope(numbers[i], loss)).margin(1e-3).epsilon(2e-3));
    }
}

/// A layer under test: out = layer(tape, x); the loss is the mean squared distance to a fixed target.
inline void check_layer(const std::function<nn::Variable(nn::Tape&, nn::Variable)>& layer,
                        const nn::Tensor& x, const nn::Tensor& target,
                        const std::vector<nn::Parameter*>& parameters, Bench& bench) {
    const auto forward = [&](nn::Tape& tape) { return nn::mse(tape, layer(tape, tape.leaf(x)), target); };
    const auto loss = [&] {
        nn::Tape tape(bench.allocator, nullptr);
        const nn::Variable result = forward(tape);
        return static_cast<double>(tape.value(result).data<float>()[0]);
    };
    nn::Tape tape(bench.allocator, nullptr);
    const nn::Variable input = tape.leaf(x);
    const nn::Variable result = nn::mse(tape, layer(tape, input), target);
    tape.backward(result);
    check_slopes(x, tape.grad(input), loss);
    for (nn::Parameter* parameter : parameters) check_slopes(parameter->value, parameter->grad, loss);
}

/// A model under test: every parameter's gradient of its loss against the slopes.
inline void check_model(nn::Model& model, const nn::Tensor& x, const nn::Tensor& y, Bench& bench) {
    const auto loss = [&] {
        nn::Tape tape(bench.allocator, nullptr);
        const nn::Variable result = model.loss(tape, x, y);
        return static_cast<double>(tape.value(result).data<float>()[0]);
    };
    nn::Tape tape(bench.allocator, nullptr);
    tape.backward(model.loss(tape, x, y));
    for (const auto& parameter : model.all_parameters()) {
        CAPTURE(parameter->name);
        check_slopes(parameter->value, parameter->grad, loss);
    }
}

}  // namespace meshscope::test
