#include "core/run/rank.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/mesh/roles.h"
#include "core/nn/optim/clip.h"
#include "core/run/call_script_rank.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/save.h"
#include "core/run/rank_parts.h"
#include "core/run/training.h"

namespace meshscope::run {
namespace {

using tensor::Tensor;

/// A rank that trains, in the order it must be torn down from the end.
class TrainingRank final : public RankParts {
  public:
    TrainingRank(comm::Transport& transport, const RunPlan& plan, RunControl& control);

    /// All steps, from the first values to the parts of the parameters.
    void run();

  private:
    void join_groups();
    void reserve_results();
    bool goes_on(int32_t step);
    void told_to_stop_alone();
    void one_step(int32_t step);
    void train_step(int32_t step);
    Tensor batch_tensor(const nn::Shape& shape, DType dtype, const char* label);
    void update(int32_t step);
    void evaluate(int32_t step);
    void restart(int32_t steps_done);
    checkpoint::RankState state();
    void look_at_parameters(std::string_view op, const std::vector<Tensor>& gradients);

    parallel::RankContext context_;
    std::optional<FiniteWatch> watch_;  ///< none: nobody searches
    std::optional<Training> training_;
    std::optional<checkpoint::Saver> saver_;  ///< none: nothing is saved
    /// Since when this rank is told to stop while the one that decides goes on.
    std::optional<std::chrono::steady_clock::time_point> alone_since_;
};

TrainingRank::TrainingRank(comm::Transport& transport, const RunPlan& plan, RunControl& control)
    : RankParts(transport, plan, control) {
    context_.rank = rank_;
    context_.mesh = &plan.mesh;
    context_.allocator = &allocator_;
    context_.recorder = &recorder_;
    join_groups();
    if (plan.searches) context_.watcher = &watch_.emplace(rank_);
    training_.emplace(plan, context_);
}

void TrainingRank::join_groups() {
    const GroupTable& table = plan_.groups;
    std::vector<comm::ProcessGroup*> by_dim;
    for (const std::vector<int32_t>& indices : table.by_dim)
        by_dim.push_back(join_group(table.of(rank_, indices)));
    if (plan_.saves)
        saver_.emplace(plan_.inputs->checkpoints.save, *join_group(table.whole_mesh), allocator_, &recorder_);
    for (const std::vector<int32_t>& indices : table.data) {
        const auto dim = std::ranges::find(table.by_dim, indices);
        context_.groups.push_back(dim != table.by_dim.end()
                                      ? by_dim[static_cast<std::size_t>(dim - table.by_dim.begin())]
                                      : join_group(table.of(rank_, indices)));
    }
    const mesh::Names& names = plan_.mesh.names();
    for (std::size_t d = 0; d < by_dim.size() && d < names.size(); ++d)
        if (const auto role = mesh::role_of(names[d]); role && !mesh::is_data(*role))
            context_.by_role[*role] = by_dim[d];
    for (const auto& [size, indices] : table.shard_parts)
        context_.shard_parts[size] = join_group(table.of(rank_, indices));
    for (const auto& [size, indices] : table.tp_parts)
        context_.tp_parts[size] = join_group(table.of(rank_, indices));
    for (const int32_t index : table.embedding) {
        const std::vector<int32_t>& ranks = table.groups[static_cast<std::size_t>(index)].ranks;
        if (std::ranges::find(ranks, rank_.value) != ranks.end()) context_.embedding = join_group(index);
    }
}

void TrainingRank::run() {
    recorder_.set_step(-1);
    recorder_.set_phase(Phase::setup);
    enter(-1, Phase::setup);
    training_->load(plan_.inputs->first_values());
    int32_t step = 0;
    if (const auto& resumed = plan_.inputs->checkpoints.resumed)
        step = resumed->restore(training_->runner(), training_->optimizer());

    reserve_results();
    const auto started = std::chrono::steady_clock::now();
    for (; step < scenario_.steps && goes_on(step); ++step) one_step(step);
    training_->runner().finish(training_->has_batch(step - 1), training_->last_joiner(step - 1));
    if (saver_) saver_->finish(step, state());
    result_.wall_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started)
            .count();
    if (plan_.wants_parameters()) result_.parts = training_->parts();
    if (watch_) result_.not_finite = watch_->found();
}

/// Room for a number a step: a list that grew by doubling would leave its earlier places behind, as much
/// memory again.
void TrainingRank::reserve_results() {
    constexpr int32_t kMost = 1 << 20;  // 8 MiB, untouched until used
    const auto steps = static_cast<std::size_t>(std::clamp(scenario_.steps, 0, kMost));
    result_.losses.reserve(steps);
    if (scenario_.clip_norm) result_.grad_norms.reserve(steps);
}

/// Processes have no common vote: the first one's goes round.
bool TrainingRank::goes_on(int32_t step) {
    const bool mine = control_.vote.goes_on(step);
    if (!control_.processes) return mine;
    bool on = mine;
    executor_.run_in_turn([&] {
        if (plan_.checked) control_.processes->end_calls();
        on = control_.processes->first_says(mine);
    });
    if (on && !mine) told_to_stop_alone();
    return on;
}

/// A signal that goes to all ranks reaches the one that decides as well, if a little later. One that it never
/// gets is for this rank alone, which then leaves the run; its peers say whom they miss.
void TrainingRank::told_to_stop_alone() {
    constexpr std::chrono::seconds kPatience{3};
    const auto now = std::chrono::steady_clock::now();
    if (!alone_since_) alone_since_ = now;
    if (now - *alone_since_ < kPatience) return;
    throw CommError({"run.stopped_alone", {{"rank", int64_t{rank_.value}}}}, rank_);
}

void TrainingRank::one_step(int32_t step) {
    if (training_->has_batch(step)) {
        train_step(step);
    } else {
        recorder_.set_step(step);
        training_->runner().shadow(step);
    }
    if (training_->evaluator() && training_->evaluator()->follows(step)) evaluate(step);
    if (saver_) saver_->after_step(step + 1, state());
    append_part();
    recorder_.make_room(scenario_.steps - step - 1);
    if (saver_ && step + 1 == scenario_.checkpoint.restart_after) restart(step + 1);
}

Tensor TrainingRank::batch_tensor(const nn::Shape& shape, DType dtype, const char* label) {
    return allocator_.empty(shape, dtype, MemoryCategory::inputs, label);
}

void TrainingRank::train_step(int32_t step) {
    recorder_.set_step(step);
    enter(step, Phase::forward);
    parallel::StepRunner& runner = training_->runner();
    const nn::Model& model = training_->model();
    const int64_t rows = training_->rows();
    // What a rank does not read it keeps no memory for.
    Tensor x, y;
    if (runner.reads_input()) x = batch_tensor(model.input_shape(rows), model.input_dtype(), "x");
    if (runner.reads_target()) y = batch_tensor(model.target_shape(rows), model.target_dtype(), "y");
    if (x.defined() || y.defined()) plan_.inputs->batches->read(step, training_->place().index * rows, x, y);
    if (const parallel::ContextParallel* const context_parallel = training_->context_parallel()) {
        // Every rank of the cp group has read the same rows; it goes on with its own tokens of them.
        recorder_.set_phase(Phase::forward);
        recorder_.set_microbatch(0);
        if (x.defined()) x = context_parallel->own_tokens(x, "x");
        if (y.defined()) y = context_parallel->own_tokens(y, "y");
    }
    const std::optional<double> loss = runner.run(step, x, y);
    update(step);
    if (!loss) return;
    result_.losses.push_back(*loss);
    if (plan_.options.progress && training_->reports())
        plan_.options.progress(step + 1, scenario_.steps, *loss);
}

void TrainingRank::update(int32_t step) {
    parallel::StepRunner& runner = training_->runner();
    if (!runner.updates()) return runner.after_step();
    recorder_.set_phase(Phase::optimizer);
    recorder_.set_microbatch(0);
    enter(step, Phase::optimizer);
    const std::vector<Tensor> gradients = runner.gradients();
    if (parallel::TensorParallel* const tensor_parallel = training_->tensor_parallel())
        tensor_parallel->sum_partial_gradients(gradients, runner.local_parameters());
    if (watch_) {
        watch_->at(step, 0, Phase::optimizer);
        look_at_parameters("gradient", gradients);
    }
    if (scenario_.clip_norm) {
        const double norm = runner.gradient_norm();
        nn::clip_gradients(gradients, norm, *scenario_.clip_norm, allocator_, &recorder_);
        result_.grad_norms.push_back(norm);
    }
    training_->optimizer().step(gradients);
    if (watch_) look_at_parameters(scenario_.optimizer.kind, {});
    runner.after_step();
}

void TrainingRank::evaluate(int32_t step) {
    result_.evaluations.push_back(training_->evaluator()->run(step, training_->runner()));
    recorder_.set_phase(Phase::optimizer);  // what a checkpoint sends is of the step again
    recorder_.set_microbatch(0);
}

/// Drops all that training has made and goes on from what is on the disk, as a process that was started again
/// would: the saving's barrier has made sure that it is whole.
void TrainingRank::restart(int32_t steps_done) {
    saver_->finish(steps_done, state());
    if (saver_->refused())
        throw InvalidArgument({"checkpoint.restart_not_finite", {{"steps", int64_t{steps_done}}}});
    training_->runner().finish(training_->has_batch(steps_done - 1), training_->last_joiner(steps_done - 1));
    recorder_.set_phase(Phase::setup);
    training_.reset();
    training_.emplace(plan_, context_);
    const std::string folder =
        (std::filesystem::path(scenario_.checkpoint.folder) / checkpoint::step_name(steps_done)).string();
    const checkpoint::Checkpoint saved(folder, checkpoint::identity_of(scenario_), scenario_,
                                       *nn::make_model(scenario_.model));
    training_->load(saved);
    saved.restore(training_->runner(), training_->optimizer());
}

/// What a checkpoint is made of.
checkpoint::RankState TrainingRank::state() {
    return {&training_->runner(), &training_->optimizer(),
            [this](const parallel::LocalParameter& local) { return training_->answers_for(local); },
            result_.losses, result_.grad_norms};
}

/// The numbers of every local parameter, or of its gradient when gradients are given: what is not finite here
/// was made by a reduction, or by the optimizer.
void TrainingRank::look_at_parameters(std::string_view op, const std::vector<Tensor>& gradients) {
    const auto& locals = training_->runner().local_parameters();
    for (std::size_t i = 0; i < locals.size(); ++i) {
        if (!gradients.empty() && i >= gradients.size()) return;
        watch_->look(locals[i].parameter->name, op, gradients.empty() ? locals[i].value : gradients[i]);
    }
}

/// Lets a rank run. What it made is in `result`, also when it throws.
template <class Rank>
void live(Rank& rank, RankResult& result) {
    try {
        rank.run();
        result = rank.finish();
    } catch (...) {
        result = rank.abandon();
        throw;
    }
}

}  // namespace

bool StopVote::goes_on(int32_t step) {
    const std::lock_guard lock(mutex_);
    if (step <= decided_) return true;
    if (stopped_ || (cancel_ && cancel_->load())) {
        stopped_ = true;
        return false;
    }
    decided_ = step;
    return true;
}

void train_rank(comm::Transport& transport, const RunPlan& plan, RunControl& control, RankResult& result) {
    if (!plan.mesh.coordinate(transport.rank())) return;  // the world may be larger than the mesh
    if (!plan.scenario.calls.empty()) {
        CallScriptRank rank(transport, plan, control);
        return live(rank, result);
    }
    TrainingRank rank(transport, plan, control);
    live(rank, result);
}

}  // namespace meshscope::run
