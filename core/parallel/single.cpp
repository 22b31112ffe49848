#include "core/parallel/single.h"

#include "core/parallel/ddp/ddp.h"
#include "core/parallel/declaration.h"
#include "core/parallel/mixed_precision_key.h"
#include "core/parallel/record_ownership.h"
#include "core/parallel/whole_parameters.h"

namespace meshscope::parallel {

Single::Single(const RankContext& context, nn::Model& model, const MixedPrecision& precision)
    : context_(context), model_(model), copies_(context, model, precision) {}

void Single::load(const InitialValues& values) {
    local_ = allocate_whole(model_, *context_.allocator, &values, true, copies_.values_category(),
                            copies_.precision().stored);
    record_whole(context_, model_);
    copies_.make(local_);
}

Tensor Single::input(const Tensor& x) {
    return cast_input(x, copies_.precision().param, context_);
}

void Single::attach(nn::Tape& tape) {
    if (copies_.active())
        tape.on_gradient_ready([this](nn::Parameter& parameter) { copies_.keep(parameter); });
}

void Single::after_backward(const Pass& pass) {
    if (pass.last) copies_.finish();
}

std::vector<Tensor> Single::gradients() const {
    return whole_gradients(model_);
}

double Single::gradient_norm() {
    return whole_gradient_norm(local_, context_);
}

void Single::after_step() {
    drop_gradients(model_);
    copies_.refresh();
}

namespace {

constexpr StrategyKey kNoneKeys[] = {kMixedPrecisionKey};

}  // namespace

extern const Declaration kNone;
const Declaration kNone{.id = DataStrategy::none,
                        .word = "none",
                        .keys = kNoneKeys,
                        .in_pipelines = true,
                        .shares_between_stages = [](const StrategyOptions&) { return true; },
                        .data_parallel = false,
                        .stores_bfloat16 = true,
                        .batch_norm = true,
                        .refusals =
                            [](const StrategyOptions&, const StrategyUse& use) {
                                std::vector<Refusal> found;
                                refuse_precision(use, {}, found);
                                return found;
                            },
                        .make = [](const RankContext& context, nn::Model& model,
                                   const StrategyOptions& options) -> std::unique_ptr<Strategy> {
                            // Ranks of a cp group see other tokens of the same samples: their gradients are
                            // averaged.
                            if (context.along(mesh::Role::cp))
                                return std::make_unique<Ddp>(context, model, DdpOptions{}, options.precision);
                            return std::make_unique<Single>(context, model, options.precision);
                        }};

}  // namespace meshscope::parallel
