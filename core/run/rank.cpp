#include "core/run/rank.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/mesh/roles.h"
#include "core/nn/optim/clip.h"
#include "core/nn/optim/optimizer.h"
#include "core/parallel/context/context_parallel.h"
#include "core/parallel/tensor/placement.h"
#include "core/parallel/tensor/tensor_parallel.h"
#include "core/run/call_script_rank.h"
#include "core/run/checkpoint/folder.h"
#include "core/run/checkpoint/identity.h"
#include "core/run/evaluate.h"
#include "core/run/make_runner.h"
#include "core/run/rank_parts.h"
#include "core/tensor/kernels.h"

namespace meshscope::run {
namespace {

using scenario::DataStrategy;
using scenario::Scenario;

/// The rank's place among those that share out the batch: row-major over the data dims of the mesh. The ranks
/// of a tp, pp or cp group stand at the same place.
struct DataPlace {
    int64_t index = 0;
    int64_t size = 1;
};

DataPlace data_place(const Scenario& scenario, const mesh::DeviceMesh& mesh, GlobalRank rank) {
    DataPlace place;
    // DataParallel is one process: its first device reads every batch.
    if (scenario.parallel.data == DataStrategy::none || scenario.parallel.data == DataStrategy::dp)
        return place;
    const std::vector<int64_t> coordinate = *mesh.coordinate(rank);
    for (const std::size_t d : mesh::roles_of(mesh.names()).data) {
        const int64_t size = mesh.size(static_cast<int64_t>(d));
        place.index = place.index * size + coordinate[d];
        place.size *= size;
    }
    return place;
}

/// Everything one rank owns, in the order it must be torn down from the end.
class Rank : public RankParts {
  public:
    Rank(comm::Transport& transport, SharedRun& shared)
        : RankParts(transport, shared), place_(data_place(scenario_, shared.mesh, rank_)) {
        std::vector<comm::ProcessGroup*> by_dim;
        for (const std::vector<int32_t>& indices : shared.groups.by_dim)
            by_dim.push_back(join_group(shared.groups.of(rank_, indices)));
        if (shared.save)
            saver_.emplace(*shared.save, *join_group(shared.groups.whole_mesh), allocator_, &recorder_);
        parallel::RankContext& context = context_;
        context.rank = rank_;
        context.mesh = &shared.mesh;
        context.allocator = &allocator_;
        context.recorder = &recorder_;
        for (const std::vector<int32_t>& indices : shared.groups.data) {
            const auto dim = std::ranges::find(shared.groups.by_dim, indices);
            context.groups.push_back(
                dim != shared.groups.by_dim.end()
                    ? by_dim[static_cast<std::size_t>(dim - shared.groups.by_dim.begin())]
                    : join_group(shared.groups.of(rank_, indices)));
        }
        for (std::size_t d = 0; d < by_dim.size() && d < shared.mesh.names().size(); ++d)
            if (const auto role = mesh::role_of(shared.mesh.names()[d]); role && !mesh::is_data(*role))
                context.by_role[*role] = by_dim[d];
        for (const auto& [size, indices] : shared.groups.shard_parts)
            context.shard_parts[size] = join_group(shared.groups.of(rank_, indices));
        if (shared.not_finite) context.watcher = &watch_.emplace(rank_);
        build();
    }

    void run() {
        recorder_.set_step(-1);
        recorder_.set_phase(Phase::setup);
        enter(-1, Phase::setup);
        runner_->load(parallel::PartValues(shared_.weights));
        make_optimizer();
        int32_t step = 0;
        if (shared_.resumed) step = shared_.resumed->restore(*runner_, *optimizer_, allocator_);

        const auto index = static_cast<std::size_t>(rank_.value);
        reserve_results(index);
        const auto started = std::chrono::steady_clock::now();
        for (; step < scenario_.steps && goes_on(step); ++step) {
            if (has_batch(step))
                train_step(step);
            else
                shadow_step(step);
            if (evaluator_ && evaluator_->follows(step)) evaluate(step);
            if (saver_) saver_->after_step(step + 1, state());
            append_part();
            recorder_.make_room(scenario_.steps - step - 1);
            if (saver_ && step + 1 == scenario_.checkpoint.restart_after) restart(step + 1);
        }
        runner_->finish(has_batch(step - 1), last_joiner(step - 1));
        if (saver_) saver_->finish(step, state());
        shared_.wall_ns[index] =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started)
                .count();
        if (!shared_.dry) hand_over_parameters();
    }

    trace::RankRecord finish() {
        if (watch_) (*shared_.not_finite)[static_cast<std::size_t>(rank_.value)] = watch_->found();
        return RankParts::finish();
    }

  private:
    /// The model and all that is laid around it, without values.
    void build() {
        const parallel::RankContext& context = context_;
        const mesh::Roles roles = mesh::roles_of(shared_.mesh.names());
        model_ = nn::make_model(scenario_.model);
        if (context.along(mesh::Role::tp))
            tensor_parallel_ = std::make_unique<parallel::TensorParallel>(
                context, parallel::TensorParallelOptions{
                             .linear_plan = scenario_.parallel.tp_plan_linear,
                             .sequence_parallel = scenario_.parallel.sequence_parallel,
                             .loss_parallel = scenario_.parallel.loss_parallel,
                             .sum_each_norm = norms_lie_apart(context.along(mesh::Role::tp)->size())});
        if (context.along(mesh::Role::cp) && context.along(mesh::Role::cp)->size() > 1)
            context_parallel_ = std::make_unique<parallel::ContextParallel>(context, scenario_.model.seq,
                                                                            scenario_.parallel.context);
        make_evaluator(context);
        runner_ = make_runner(scenario_, context, *model_, {tensor_parallel_.get(), context_parallel_.get()},
                              scenario_.global_batch / place_.size);
        const std::vector<int64_t> coordinate = *shared_.mesh.coordinate(rank_);
        reports_ = runner_->reads_target();
        for (std::size_t d = 0; d < coordinate.size(); ++d)
            if (d != roles.pp && coordinate[d] != 0) reports_ = false;
    }

    /// Parameters lie in one flat array, or go to ranks by their size, and the tp ranks' parts differ in
    /// size: a norm, of which every tp rank has the whole, lies elsewhere on each.
    bool norms_lie_apart(int64_t tp_ranks) const {
        const nn::ModelSpec& model = scenario_.model;
        const bool flat = parallel::declaration(scenario_.parallel.data).flat;
        const auto uneven = [&](int64_t size) { return size % tp_ranks != 0; };
        return flat && scenario_.parallel.sequence_parallel &&
               (uneven(model.vocab) || uneven(model.hidden) || (model.kind == "gpt" && uneven(model.seq)));
    }

    /// Drops all that training has made and goes on from what is on the disk, as a process that was started
    /// again would: the saving's barrier has made sure that it is whole.
    void restart(int32_t steps_done) {
        saver_->finish(steps_done, state());
        if (saver_->refused())
            throw InvalidArgument({"checkpoint.restart_not_finite", {{"steps", int64_t{steps_done}}}});
        runner_->finish(has_batch(steps_done - 1), last_joiner(steps_done - 1));
        recorder_.set_phase(Phase::setup);
        optimizer_.reset();
        evaluator_.reset();
        runner_.reset();
        context_parallel_.reset();
        tensor_parallel_.reset();
        build();
        const std::string folder =
            (std::filesystem::path(scenario_.checkpoint.folder) / checkpoint::step_name(steps_done)).string();
        const checkpoint::Checkpoint saved(folder, checkpoint::identity_of(scenario_), scenario_,
                                           *nn::make_model(scenario_.model));
        runner_->load(parallel::PartValues(saved));
        make_optimizer();
        saved.restore(*runner_, *optimizer_, allocator_);
    }

    /// What a checkpoint is made of.
    checkpoint::RankState state() {
        const auto index = static_cast<std::size_t>(rank_.value);
        return {runner_.get(), optimizer_.get(),
                [this](const parallel::LocalParameter& local) { return answers_for(local); },
                shared_.losses[index], shared_.grad_norms[index]};
    }

    /// Room for a number a step: a list that grew by doubling would leave its earlier places behind, as much
    /// memory again.
    void reserve_results(std::size_t index) {
        constexpr int32_t kMost = 1 << 20;  // 8 MiB, untouched until used
        const auto steps = static_cast<std::size_t>(std::clamp(scenario_.steps, 0, kMost));
        shared_.losses[index].reserve(steps);
        if (scenario_.clip_norm) shared_.grad_norms[index].reserve(steps);
    }

    void make_optimizer() {
        std::vector<nn::Optimizer::Slot> slots;
        for (const parallel::LocalParameter& local : runner_->local_parameters())
            slots.push_back({local.parameter->name, local.value});
        const Scenario::Optimizer& o = scenario_.optimizer;
        optimizer_ = std::make_unique<nn::Optimizer>(nn::OptimizerSpec{.kind = o.kind,
                                                                       .lr = o.lr,
                                                                       .momentum = o.momentum,
                                                                       .beta1 = o.beta1,
                                                                       .beta2 = o.beta2,
                                                                       .eps = o.eps,
                                                                       .weight_decay = o.weight_decay,
                                                                       .memory = optimizer_memory()},
                                                     std::move(slots), allocator_, &recorder_);
    }

    /// Offloaded shards are updated where they lie.
    MemoryCategory optimizer_memory() const {
        const bool offloaded =
            scenario_.parallel.data == DataStrategy::fsdp2 && scenario_.parallel.fsdp2.cpu_offload;
        return offloaded ? MemoryCategory::offloaded : MemoryCategory::optimizer_state;
    }

    void train_step(int32_t step) {
        recorder_.set_step(step);
        enter(step, Phase::forward);
        const int64_t rows = scenario_.global_batch / place_.size;
        // What a rank does not read it keeps no memory for.
        tensor::Tensor x, y;
        if (runner_->reads_input())
            x = allocator_.empty(model_->input_shape(rows), model_->input_dtype(), MemoryCategory::inputs,
                                 "x");
        if (runner_->reads_target())
            y = allocator_.empty(model_->target_shape(rows), model_->target_dtype(), MemoryCategory::inputs,
                                 "y");
        if (x.defined() || y.defined()) shared_.batches.read(step, place_.index * rows, x, y);
        if (context_parallel_) {
            // Every rank of the cp group has read the same rows; it goes on with its own tokens of them.
            recorder_.set_phase(Phase::forward);
            recorder_.set_microbatch(0);
            if (x.defined()) x = context_parallel_->own_tokens(x, "x");
            if (y.defined()) y = context_parallel_->own_tokens(y, "y");
        }
        const std::optional<double> loss = runner_->run(step, x, y);
        update(step);
        if (!loss) return;
        shared_.losses[static_cast<std::size_t>(rank_.value)].push_back(*loss);
        if (reports_ && shared_.options.progress) shared_.options.progress(step + 1, scenario_.steps, *loss);
    }

    /// Processes have no common vote: the first one's goes round.
    bool goes_on(int32_t step) {
        bool on = shared_.vote.goes_on(step);
        if (!shared_.processes) return on;
        executor_.run_in_turn([&] {
            if (shared_.checked) shared_.processes->end_calls();
            on = shared_.processes->first_says(on);
        });
        return on;
    }

    /// Whether this rank's data reach that far; with uneven inputs others may go on without it.
    bool has_batch(int32_t step) const {
        const std::vector<int64_t>& batches = scenario_.data_batches;
        return batches.empty() || step < batches[static_cast<std::size_t>(place_.index)];
    }

    /// The highest data-parallel rank that has a batch in that step; 0 where none has.
    GroupRank last_joiner(int32_t step) const {
        const std::vector<int64_t>& batches = scenario_.data_batches;
        if (batches.empty()) return GroupRank{static_cast<int32_t>(place_.size) - 1};
        int32_t last = 0;
        for (std::size_t r = 0; r < batches.size(); ++r)
            if (step < batches[r]) last = static_cast<int32_t>(r);
        return GroupRank{last};
    }

    void shadow_step(int32_t step) {
        recorder_.set_step(step);
        runner_->shadow(step);
    }

    void make_evaluator(parallel::RankContext context) {
        if (scenario_.evaluation.every == 0) return;
        if (scenario_.parallel.data == DataStrategy::none) context.groups.clear();  // all do the same
        evaluator_.emplace(scenario_, context, *model_, place_.index, place_.size, !shared_.dry);
    }

    void evaluate(int32_t step) {
        const Evaluated evaluated = evaluator_->run(step, *runner_);
        recorder_.set_phase(Phase::optimizer);  // what a checkpoint sends is of the step again
        recorder_.set_microbatch(0);
        if (shared_.evaluations)
            (*shared_.evaluations)[static_cast<std::size_t>(rank_.value)].push_back(evaluated);
    }

    void update(int32_t step) {
        if (!runner_->updates()) return runner_->after_step();
        recorder_.set_phase(Phase::optimizer);
        recorder_.set_microbatch(0);
        enter(step, Phase::optimizer);
        const std::vector<tensor::Tensor> gradients = runner_->gradients();
        if (tensor_parallel_) tensor_parallel_->sum_partial_gradients(gradients, runner_->local_parameters());
        if (watch_) {
            watch_->at(step, 0, Phase::optimizer);
            look_at_parameters("gradient", gradients);
        }
        if (scenario_.clip_norm) {
            const double norm = runner_->gradient_norm();
            nn::clip_gradients(gradients, norm, *scenario_.clip_norm, allocator_, &recorder_);
            shared_.grad_norms[static_cast<std::size_t>(rank_.value)].push_back(norm);
        }
        optimizer_->step(gradients);
        if (watch_) look_at_parameters(scenario_.optimizer.kind, {});
        runner_->after_step();
    }

    /// The numbers of every local parameter, or of its gradient when gradients are given: what is not finite
    /// here was made by a reduction, or by the optimizer.
    void look_at_parameters(std::string_view op, const std::vector<tensor::Tensor>& gradients) {
        const auto& locals = runner_->local_parameters();
        for (std::size_t i = 0; i < locals.size(); ++i) {
            if (!gradients.empty() && i >= gradients.size()) return;
            watch_->look(locals[i].parameter->name, op, gradients.empty() ? locals[i].value : gradients[i]);
        }
    }

    /// Whether this rank hands over its part of a parameter. Where no data strategy divides the work, the
    /// first of the ranks that all do the same answers; of a tp group rank 0, where the parameter was not
    /// cut.
    bool answers_for(const parallel::LocalParameter& local) const {
        if (!local.owned) return false;
        const std::vector<int64_t> coordinate = *shared_.mesh.coordinate(rank_);
        const mesh::Roles roles = mesh::roles_of(shared_.mesh.names());
        if (roles.tp && !local.parameter->box.cut() && coordinate[*roles.tp] != 0) return false;
        if (scenario_.parallel.data != DataStrategy::none) return true;
        for (std::size_t d = 0; d < coordinate.size(); ++d)
            if (d != roles.tp && d != roles.pp && coordinate[d] != 0) return false;
        return true;
    }

    /// Each rank writes the elements it answers for into the shared whole; they never overlap, so no lock is
    /// needed. A process that has no share in the whole keeps them, for rank 0.
    void hand_over_parameters() {
        std::vector<float> numbers;
        for (const parallel::LocalParameter& local : runner_->local_parameters()) {
            if (!answers_for(local) || local.copy > 0) continue;
            numbers.resize(static_cast<std::size_t>(local.value.n_elements()));
            allocator_.device().kernels().download(numbers, local.value);
            if (shared_.parts) {
                shared_.parts->push_back({local.parameter->whole_index, local.parameter->shape,
                                          local.parameter->box, local.first_element, numbers});
                continue;
            }
            parallel::write_part(
                shared_.parameters[static_cast<std::size_t>(local.parameter->whole_index)].numbers,
                *local.parameter, local.first_element, numbers);
        }
    }

    DataPlace place_;
    parallel::RankContext context_;
    std::unique_ptr<nn::Model> model_;
    std::unique_ptr<parallel::TensorParallel> tensor_parallel_;    ///< null: the mesh has no tp dim
    std::unique_ptr<parallel::ContextParallel> context_parallel_;  ///< null: the mesh has no cp dim
    std::optional<FiniteWatch> watch_;
    std::optional<Evaluator> evaluator_;  ///< none: the scenario evaluates nothing
    std::unique_ptr<parallel::StepRunner> runner_;
    bool reports_ = false;  ///< the first rank that knows the loss tells the progress
    std::unique_ptr<nn::Optimizer> optimizer_;
    std::optional<checkpoint::Saver> saver_;
};

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

void train_rank(comm::Transport& transport, SharedRun& shared) {
    if (!shared.mesh.coordinate(transport.rank())) return;  // the world may be larger than the mesh
    trace::RankRecord& record = shared.records[static_cast<std::size_t>(transport.rank().value)];
    if (!shared.scenario.calls.empty()) {
        CallScriptRank rank(transport, shared);
        return live(rank, record);
    }
    Rank rank(transport, shared);
    live(rank, record);
}

}  // namespace meshscope::run
