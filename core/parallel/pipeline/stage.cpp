#include "core/parallel/pipeline/stage.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/nn/model/frozen.h"

namespace meshscope::parallel::pipeline {

LayerRange layers_of_stage(int64_t n_layers, int32_t stages, int32_t stage,
                           const std::vector<int64_t>& counts) {
    if (n_layers < stages)
        throw InvalidArgument(
            {"pipeline.too_few_layers", {{"layers", n_layers}, {"stages", int64_t{stages}}}});
    if (counts.empty()) return {stage * n_layers / stages, (stage + 1) * n_layers / stages};
    const auto own = counts.begin() + stage;
    const int64_t before = std::accumulate(counts.begin(), own, int64_t{0});
    return {before, before + *own};
}

Stage::Stage(const RankContext& context, StagePlace place, std::unique_ptr<nn::Model> model,
             const MakeStrategy& make_strategy, const StepLoss& loss)
    : context_(context),
      place_(place),
      name_("stage " + std::to_string(place.index)),
      model_(std::move(model)),
      loss_(loss),
      in_flight_(static_cast<std::size_t>(place.microbatches)) {
    if (!first()) {
        input_trains_ = nn::any_trained(model_->embed_parameters());
        for (int64_t i = 0; i < place_.layers.first; ++i)
            input_trains_ = input_trains_ || nn::any_trained(model_->layer_parameters(i));
    }
    model_->keep_pieces(first(), place_.layers.first, place_.layers.end, last());
    output_trains_ = input_trains_ || nn::any_trained(model_->all_parameters());
    strategy_ = make_strategy(*model_);
}

std::optional<std::size_t> Stage::tied() const {
    if (model_->tied() == nullptr || !model_->tied()->shared) return std::nullopt;
    const auto& local = strategy_->local_parameters();
    const auto found = std::ranges::find(local, model_->tied(), &LocalParameter::parameter);
    if (found == local.end()) return std::nullopt;
    return static_cast<std::size_t>(found - local.begin());
}

Stage::~Stage() = default;

Stage::InFlight& Stage::at(int32_t microbatch) {
    return in_flight_.at(static_cast<std::size_t>(microbatch));
}

void Stage::begin_step() {
    for (InFlight& flight : in_flight_) flight = {};
    completed_ = 0;
}

void Stage::forward(int32_t step, int32_t microbatch, Tensor input, const Tensor& target) {
    InFlight& flight = at(microbatch);
    strategy_->before_forward({step, microbatch, false});
    flight.tape = std::make_unique<nn::Tape>(*context_.allocator, context_.recorder);
    nn::Tape& tape = *flight.tape;
    if (context_.watcher) {
        context_.watcher->at(step, microbatch, Phase::forward);
        context_.watcher->watch(tape);
        if (!first()) context_.watcher->received(input);
    }
    if (!first()) flight.input = input_trains_ ? tape.leaf(std::move(input)) : tape.input(std::move(input));
    tape.enter(*model_);
    nn::Variable stream = first() ? model_->embed(tape, strategy_->input(input)) : flight.input;
    for (int64_t i = place_.layers.first; i < place_.layers.end; ++i) stream = model_->layer(tape, i, stream);
    if (last()) stream = model_->head(tape, stream);
    tape.leave(*model_);
    if (last()) {
        loss_.prepare(*model_, target);
        stream = model_->criterion(tape, stream, target);
        flight.loss = tape.value(stream).item();
    }
    flight.output = stream;
}

Tensor Stage::take_output(int32_t microbatch) {
    InFlight& flight = at(microbatch);
    Tensor output = flight.tape->value(flight.output);
    flight.tape->release(flight.output);
    return output;
}

double Stage::loss(int32_t microbatch) const {
    return in_flight_.at(static_cast<std::size_t>(microbatch)).loss;
}

Pass Stage::announce_backward(int32_t step, int32_t microbatch, bool completes, nn::Tape& tape) {
    const Pass pass{step, microbatch, completes && completed_ + 1 == place_.microbatches};
    strategy_->before_backward(pass);
    strategy_->attach(tape);
    return pass;
}

void Stage::backward(int32_t step, int32_t microbatch, Tensor grad, bool input_only) {
    InFlight& flight = at(microbatch);
    nn::Tape& tape = *flight.tape;
    if (context_.watcher) {
        context_.watcher->at(step, microbatch, Phase::backward);
        if (!last()) context_.watcher->received(grad);
    }
    const float seed = loss_.seed();
    if (input_only && !output_trains_) return;
    if (input_only) {
        // Whatever the strategy hangs on the tape concerns finished gradients: those come with W.
        strategy_->before_backward({step, microbatch, false});
        last() ? tape.backward_input(flight.output, seed)
               : tape.backward_input(flight.output, std::move(grad));
        if (input_trains_) flight.input_grad = tape.take_grad(flight.input);
        return;
    }
    const Pass pass = announce_backward(step, microbatch, true, tape);
    if (output_trains_)
        last() ? tape.backward(flight.output, seed) : tape.backward(flight.output, std::move(grad));
    if (input_trains_) flight.input_grad = tape.take_grad(flight.input);
    flight.tape.reset();
    ++completed_;
    strategy_->after_backward(pass);
}

void Stage::backward_weight(int32_t step, int32_t microbatch) {
    InFlight& flight = at(microbatch);
    if (context_.watcher) context_.watcher->at(step, microbatch, Phase::backward);
    const Pass pass = announce_backward(step, microbatch, true, *flight.tape);
    if (output_trains_) flight.tape->backward_weight();
    flight.tape.reset();
    ++completed_;
    strategy_->after_backward(pass);
}

Tensor Stage::take_input_grad(int32_t microbatch) {
    return std::move(at(microbatch).input_grad);
}

}  // namespace meshscope::parallel::pipeline
