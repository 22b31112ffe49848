#include "core/parallel/single.h"

#include "core/parallel/ddp/ddp.h"
#include "core/parallel/declaration.h"
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

extern const Declaration kNone;
const Declaration kNone{.id = DataStrategy::none,
                        .word = "none",
                        .in_pipelines = true,
                        .data_parallel = false,
                        .batch_norm = true,
                        .make = [](const RankContext& context, nn::Model& model,
                                   const StrategyOptions&) -> std::unique_ptr<Strategy> {
                            // Ranks of a cp group see other tokens of the same samples: their gradients are
                            // averaged.
                            if (context.along(mesh::Role::cp))
                                return std::make_unique<Ddp>(context, model, DdpOptions{});
                            return std::make_unique<Single>(context, model);
                        }};

}  // namespace meshscope::parallel
