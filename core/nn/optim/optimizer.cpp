#include "core/nn/optim/optimizer.h"

#include <utility>

#include "core/base/error.h"
#include "core/nn/compute_event.h"
#include "core/tensor/kernels.h"

namespace meshscope::nn {

using tensor::Tensor;

Optimizer::Optimizer(OptimizerSpec spec, std::vector<Slot> slots, tensor::Allocator& allocator,
                     trace::Recorder* recorder)
    : spec_(std::move(spec)),
      slots_(std::move(slots)),
      states_(slots_.size()),
      allocator_(&allocator),
      recorder_(recorder) {
    if (spec_.kind == "sgd") {
        kind_ = Kind::sgd;
    } else if (spec_.kind == "adam") {
        kind_ = Kind::adam;
    } else if (spec_.kind == "adamw") {
        kind_ = Kind::adamw;
    } else {
        throw InvalidArgument({"optimizer.unknown_kind", {{"kind", spec_.kind}}});
    }
}

int32_t Optimizer::states_an_element() const {
    if (kind_ != Kind::sgd) return 2;
    return spec_.momentum == 0.0 ? 0 : 1;
}

void Optimizer::allocate_state(std::size_t i) {
    const Slot& slot = slots_[i];
    State& state = states_[i];
    const auto make = [&](const char* what) {
        return allocator_->zeros(slot.value.shape(), slot.value.dtype(), spec_.memory, slot.name + what);
    };
    if (kind_ == Kind::sgd) {
        if (spec_.momentum != 0.0) state.first = make(" momentum");
    } else {
        state.first = make(" exp_avg");
        state.second = make(" exp_avg_sq");
    }
}

std::vector<std::string> Optimizer::state_names() const {
    switch (states_an_element()) {
        case 0:
            return {};
        case 1:
            return {"momentum_buffer"};
        default:
            return {"exp_avg", "exp_avg_sq"};
    }
}

void Optimizer::resume(std::size_t i, int64_t steps) {
    if (steps == 0) return;
    allocate_state(i);
    states_[i].steps = steps;
}

void Optimizer::update_sgd(std::span<const Tensor> grads, const tensor::Kernels& kernels) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i].defined()) continue;
        ++states_[i].steps;
        kernels.sgd_step(slots_[i].value, grads[i], states_[i].first,
                         {spec_.lr, spec_.momentum, spec_.weight_decay, states_[i].steps == 1});
    }
}

void Optimizer::update_adam(std::span<const Tensor> grads, const tensor::Kernels& kernels) {
    std::vector<tensor::AdamTensors> together;
    together.reserve(grads.size());
    int64_t steps = 0;  // of those in `together`
    const auto update = [&] {
        if (together.empty()) return;
        kernels.adam_steps(together, {spec_.lr, spec_.beta1, spec_.beta2, spec_.eps, spec_.weight_decay,
                                      kind_ == Kind::adamw, steps});
        together.clear();
    };
    for (std::size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i].defined()) continue;
        State& state = states_[i];
        // A parameter that had no gradient in some step is behind the others.
        if (++state.steps != steps) update();
        steps = state.steps;
        together.push_back({&slots_[i].value, &grads[i], &state.first, &state.second});
    }
    update();
}

void Optimizer::step(std::span<const Tensor> grads) {
    if (grads.size() != slots_.size())
        throw InvalidArgument(
            {"optimizer.gradients",
             {{"n", static_cast<int64_t>(grads.size())}, {"wanted", static_cast<int64_t>(slots_.size())}}});
    for (std::size_t i = 0; i < grads.size(); ++i)
        if (grads[i].defined() && states_[i].steps == 0) allocate_state(i);
    const ComputeEvent event(recorder_, *allocator_, spec_.kind, "");
    if (kind_ == Kind::sgd)
        update_sgd(grads, event.kernels());
    else
        update_adam(grads, event.kernels());
}

}  // namespace meshscope::nn
