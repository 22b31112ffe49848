#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// How a rank runs the forwards and backwards of one step: one micro-batch after the other (Accumulate), or
/// as a stage of a pipeline. The training loop asks it for what to load, what to update and with which
/// gradients, and knows no more of parallelism.
class StepRunner {
  public:
    virtual ~StepRunner() = default;

    /// Puts the first values in place; set-up collectives run here (step -1).
    virtual void load(const InitialValues& values) = 0;
    /// Fixed after load(). Parameter::whole_index says which parameter of the whole model each is.
    virtual const std::vector<LocalParameter>& local_parameters() const = 0;

    /// Whether run() reads x, and whether it reads y: a pipeline's first and last stage do.
    virtual bool reads_input() const { return true; }
    virtual bool reads_target() const { return true; }
    /// Every forward and backward of a step on this rank's rows of the batch (undefined where it reads none).
    /// Afterwards gradients() are those of the mean loss over the global batch. Returns that mean over this
    /// rank's rows; nothing where another rank computes it.
    virtual std::optional<double> run(int32_t step, const Tensor& x, const Tensor& y) = 0;

    /// The loss of each row of x and y alone, by a forward that keeps nothing for a backward. Every rank
    /// calls it, with as many rows. Throws InvalidArgument ("run.evaluation_runner") where the runner has no
    /// whole model.
    virtual std::vector<float> evaluate(int32_t step, const Tensor& x, const Tensor& y);

    /// Whether this rank's optimizer works: not on the devices that DataParallel only lends out.
    virtual bool updates() const { return true; }
    /// Strategy::shadow() for every pass of a step, and Strategy::finish().
    virtual void shadow(int32_t /*step*/) {}
    virtual void finish(bool /*had_batch*/, GroupRank /*last_joiner*/) {}

    /// One gradient for each local parameter, same order; valid until after_step().
    virtual std::vector<Tensor> gradients() const = 0;
    /// The global 2-norm over the whole model of the gradients. Every rank calls it.
    virtual double gradient_norm() = 0;
    /// optimizer.zero_grad(set_to_none=True).
    virtual void after_step() = 0;

    /// Strategy::remembered() and remember(). Ranks that run the same part of the model remember the same;
    /// where they run different parts, remember() finds its own in the ranks' numbers one behind the other.
    virtual std::vector<int64_t> remembered() const { return {}; }
    virtual void remember(std::span<const int64_t>) {}
    /// Strategy::kept(), for all local parameters.
    virtual std::vector<KeptState> kept() { return {}; }
};

}  // namespace meshscope::parallel
