#include "core/parallel/single.h"

#include "core/parallel/record_ownership.h"
#include "core/parallel/whole_parameters.h"

namespace meshscope::parallel {

Single::Single(const RankContext& context, nn::Model& model) : context_(context), model_(model) {}

void Single::load(const InitialValues& values) {
    local_ = allocate_whole(model_, *context_.allocator, &values, true);
    record_whole(context_, model_);
}

std::vector<Tensor> Single::gradients() const {
    return whole_gradients(model_);
}

double Single::gradient_norm() {
    return whole_gradient_norm(local_, context_);
}

void Single::after_step() {
    drop_gradients(model_);
}

}  // namespace meshscope::parallel
