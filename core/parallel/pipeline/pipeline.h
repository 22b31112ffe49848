#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/parallel/pipeline/lower.h"
#include "core/parallel/pipeline/schedule.h"
#include "core/parallel/pipeline/stage.h"
#include "core/parallel/step_runner.h"

namespace meshscope::parallel::pipeline {

/// What travels through a pipeline at once.
struct Microbatch {
    int64_t rows = 0;                     ///< samples
    DType stream_dtype = DType::float32;  ///< of activations between stages: what the stages compute in
};

/// What a pipeline is told beside its schedule.
struct Setup {
    Microbatch microbatch{};
    std::vector<int64_t> stage_layers{};  ///< how many each stage has; empty: as even as can be
    StepLoss::Options loss{};
};

/// Pipeline parallelism: this rank's stages, worked through in the order of a schedule. Activations and their
/// gradients travel between the ranks of the pp group by send and recv.
///
/// Communication stands in the record's p2p stream, in the order that add_send_recv_in_time() gives it, so
/// neighbours agree on it and nobody waits in a circle. A receive is issued where the schedule has it and
/// waited for by the compute that reads it; a send is one that does not wait (isend), and is waited for at
/// the end of the step. Neighbouring stages on one rank (the turn of a V) hand over the tensor itself.
/// Source: torch/distributed/pipelining/schedules.py, _PipelineScheduleRuntime; stage.py.
///
/// A parameter that embedding and head share (tied) lies on the first and on the last stage. Behind the
/// step's last backward, and whatever the stages' strategies reduce, the two gradients are added up: by an
/// all_reduce over RankContext::embedding, or on the one rank that has both stages. Both copies are updated
/// alike then. Source: megatron/core/distributed/finalize_model_grads.py, _allreduce_word_embedding_grads.
///
/// Below the first trained parameter there is no backward, and no gradient is sent to a stage that has none:
/// PyTorch's stages tell each other which tensors need one (stage.py, _StageMeta).
///
/// One difference from PyTorch: the first stage's I does the input gradients inside the stage, PyTorch leaves
/// them to its W (stage.py, backward_one_chunk).
class Pipeline final : public StepRunner {
  public:
    using MakeModel = std::function<std::unique_ptr<nn::Model>()>;

    /// `context.along(mesh::Role::pp)` has schedule.shape.ranks ranks, in the order of the pipeline.
    /// `make_model` gives the whole model, once a stage. Throws InvalidArgument ("pipeline.too_few_layers").
    Pipeline(const RankContext& context, const Schedule& schedule, Setup setup, const MakeModel& make_model,
             const Stage::MakeStrategy& make_strategy);
    ~Pipeline() override;

    void load(const InitialValues& values) override;
    const std::vector<LocalParameter>& local_parameters() const override { return local_; }
    bool reads_input() const override { return find(0) != nullptr; }
    bool reads_target() const override { return find(schedule_.shape.stages() - 1) != nullptr; }
    std::optional<double> run(int32_t step, const Tensor& x, const Tensor& y) override;
    std::vector<Tensor> gradients() const override;
    double gradient_norm() override;
    void after_step() override;
    /// For each stage whose strategy learned something: the number of stages, the stage, how many numbers,
    /// the numbers.
    std::vector<int64_t> remembered() const override;
    /// Records as above, of any stages; those of this rank's are used. Nothing is where the number of stages
    /// was another, or where two records of one stage disagree.
    void remember(std::span<const int64_t> state) override;
    std::vector<KeptState> kept() override;

  private:
    /// A receive under way, by stage and micro-batch.
    struct Receive {
        comm::Work work;
        Tensor buffer;
    };
    using Key = std::pair<int32_t, int32_t>;

    void perform(const Action& action);
    void forward(Stage& stage, int32_t microbatch);
    void backward(Stage& stage, int32_t microbatch, bool input_only);
    void send(Stage& stage, int32_t microbatch, bool activation);
    void receive(Stage& stage, int32_t microbatch, bool activation);
    Tensor received(std::map<Key, Receive>& from, const Key& key);
    void mark(Phase phase, int32_t microbatch);
    void sum_tied_gradients();

    /// This rank's stage of that number, or null.
    Stage* find(int32_t stage) const;
    Stage& own(int32_t stage) const;
    int32_t home(int32_t stage) const { return schedule_.rank_of_stage[static_cast<std::size_t>(stage)]; }

    RankContext context_;
    Schedule schedule_;
    Microbatch microbatch_;
    StepLoss loss_;
    Actions actions_;  ///< this rank's
    std::vector<std::unique_ptr<Stage>> stages_;
    std::vector<LocalParameter> local_;

    // While a step runs.
    int32_t step_ = 0;
    Tensor x_, y_;
    std::map<Key, Receive> activations_, gradients_;
    std::map<Key, Tensor> local_activations_, local_gradients_;  ///< handed over on this rank
    std::vector<comm::Work> sends_;                              ///< of this step
    std::size_t n_left_ = 0;  ///< of those, how many are known to have left
};

}  // namespace meshscope::parallel::pipeline
