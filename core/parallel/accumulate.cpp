#include "core/parallel/accumulate.h"

namespace meshscope::parallel {

Accumulate::Accumulate(const RankContext& context, nn::Model& model, std::unique_ptr<Strategy> strategy,
                       int32_t microbatches, StepLoss::Options loss)
    : context_(context),
      model_(model),
      strategy_(std::move(strategy)),
      microbatches_(microbatches),
      loss_(context_, std::move(loss), microbatches) {}

std::optional<double> Accumulate::run(int32_t step, const Tensor& x, const Tensor& y) {
    const int64_t rows = x.shape().at(0) / microbatches_;
    loss_.begin(y);
    double loss = 0;
    for (int32_t m = 0; m < microbatches_; ++m)
        loss += run_microbatch({step, m, m + 1 == microbatches_}, x.narrow(m * rows, rows),
                               y.narrow(m * rows, rows));
    return loss_.of_step(loss);
}

/// Forward and backward; returns the micro-batch's loss.
double Accumulate::run_microbatch(const Pass& pass, const Tensor& x, const Tensor& y) {
    trace::Recorder* const recorder = context_.recorder;
    if (recorder) {
        recorder->set_microbatch(pass.microbatch);
        recorder->set_phase(Phase::forward);
    }
    strategy_->before_forward(pass);
    const Tensor input = strategy_->input(x);
    nn::Tape tape(*context_.allocator, recorder);
    strategy_->attach(tape);
    if (context_.watcher) {
        context_.watcher->at(pass.step, pass.microbatch, Phase::forward);
        context_.watcher->watch(tape);
    }
    loss_.prepare(model_, y);
    const nn::Variable loss = model_.loss(tape, input, y);
    const double value = tape.value(loss).item();
    if (recorder) recorder->set_phase(Phase::backward);
    if (context_.watcher) context_.watcher->at(pass.step, pass.microbatch, Phase::backward);
    tape.backward(loss, loss_.seed());
    strategy_->after_backward(pass);
    return value;
}

std::vector<float> Accumulate::evaluate(int32_t step, const Tensor& x, const Tensor& y) {
    strategy_->before_evaluation(step);
    nn::Tape tape(*context_.allocator, context_.recorder, nn::Tape::Grad::off);
    const nn::Variable output = model_.output(tape, strategy_->input(x));
    std::vector<float> losses;
    for (int64_t row = 0; row < x.dim(0); ++row) {
        const nn::Variable one = tape.input(tape.value(output).narrow(row, 1));
        const nn::Variable loss = model_.criterion(tape, one, y.narrow(row, 1));
        losses.push_back(static_cast<float>(tape.value(loss).item()));
        tape.release(loss);
    }
    return losses;
}

}  // namespace meshscope::parallel
