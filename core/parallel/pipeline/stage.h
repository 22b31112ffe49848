#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/parallel/step_loss.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel::pipeline {

/// Layers [first, end) of a model's n_layers() for each stage: as many as `counts` says of each, or where
/// that is empty as even as can be, stage s those from s·n/S to (s+1)·n/S. Throws InvalidArgument
/// ("pipeline.too_few_layers").
struct LayerRange {
    int64_t first = 0, end = 0;
};
LayerRange layers_of_stage(int64_t n_layers, int32_t stages, int32_t stage,
                           const std::vector<int64_t>& counts = {});

/// Which stage it is, of how many, and what it does in a step.
struct StagePlace {
    int32_t index = 0, stages = 1, microbatches = 1;
    LayerRange layers{};
};

/// One stage on the rank it lives on: its part of the model with a data strategy of its own, and what is kept
/// of every micro-batch between its forward and its last backward.
///
/// The first stage embeds, the last has the head and the loss. Gradients are those of the step's loss, which
/// StepLoss computes from the micro-batches' losses.
class Stage {
  public:
    /// `model` is the whole model; all but the stage's pieces is taken out of it here.
    using MakeStrategy = std::function<std::unique_ptr<Strategy>(nn::Model&)>;
    Stage(const RankContext& context, StagePlace place, std::unique_ptr<nn::Model> model,
          const MakeStrategy& make_strategy, const StepLoss& loss);
    ~Stage();

    int32_t index() const { return place_.index; }
    bool first() const { return place_.index == 0; }
    /// Whether what comes into it needs a gradient: something is trained in the stages before it. Where that
    /// is not so no gradient is sent back.
    bool input_trains() const { return input_trains_; }
    /// The same of what it makes: where nothing up to here is trained, it has no backward.
    bool output_trains() const { return output_trains_; }
    bool last() const { return place_.index == place_.stages - 1; }
    const std::string& name() const { return name_; }  ///< "stage 2"
    nn::Model& model() { return *model_; }
    Strategy& strategy() { return *strategy_; }
    /// The place of a tied parameter's copy among the strategy's local parameters, which on a rank that has
    /// no part of it is none.
    std::optional<std::size_t> tied() const;

    /// Runs the stage forward: from `input` (its rows of x for the first stage, else what the stage before
    /// made), with `target` for the last one. `input` is taken over.
    void forward(int32_t step, int32_t microbatch, Tensor input, const Tensor& target);
    /// What forward made for the next stage; the stage lets go of it.
    Tensor take_output(int32_t microbatch);
    /// The last stage's loss of a micro-batch.
    double loss(int32_t microbatch) const;

    /// B, or I when `input_only`, then W: `grad` is the gradient of the stage's output (unused by the last).
    void backward(int32_t step, int32_t microbatch, Tensor grad, bool input_only);
    void backward_weight(int32_t step, int32_t microbatch);
    /// The gradient of the stage's input, once; undefined of the first stage, and where nothing below is
    /// trained.
    Tensor take_input_grad(int32_t microbatch);

    /// At a step's begin: no micro-batch is under way.
    void begin_step();

  private:
    /// A micro-batch between forward and its last backward.
    struct InFlight {
        std::unique_ptr<nn::Tape> tape;
        nn::Variable input, output;
        Tensor input_grad;
        double loss = 0;
    };
    InFlight& at(int32_t microbatch);
    /// Tells the strategy which backward comes: gradients travel in the stage's last one.
    Pass announce_backward(int32_t step, int32_t microbatch, bool completes, nn::Tape& tape);

    RankContext context_;
    StagePlace place_;
    std::string name_;
    std::unique_ptr<nn::Model> model_;
    const StepLoss& loss_;
    std::unique_ptr<Strategy> strategy_;
    std::vector<InFlight> in_flight_;  ///< by micro-batch
    bool input_trains_ = false, output_trains_ = false;
    int32_t completed_ = 0;            ///< backwards whose weight gradients are done
};

}  // namespace meshscope::parallel::pipeline
