#include "core/run/training.h"

#include <utility>

#include "core/mesh/roles.h"
#include "core/parallel/accumulate.h"
#include "core/parallel/data_parallel/data_parallel.h"
#include "core/parallel/declaration.h"
#include "core/parallel/pipeline/own_order.h"
#include "core/parallel/pipeline/pipeline.h"
#include "core/parallel/sync_batch_norm/sync_batch_norm.h"
#include "core/parallel/tensor/placement.h"
#include "core/tensor/host_access.h"

namespace meshscope::run {
namespace {

using scenario::Scenario;

DataPlace data_place(const RunPlan& plan, const std::vector<int64_t>& coordinate) {
    DataPlace place;
    const parallel::Declaration& strategy = parallel::declaration(plan.scenario.parallel.data);
    // DataParallel is one process: its first device reads every batch.
    if (!strategy.data_parallel || strategy.one_process) return place;
    for (const std::size_t d : mesh::roles_of(plan.mesh.names()).data) {
        const int64_t size = plan.mesh.size(static_cast<int64_t>(d));
        place.index = place.index * size + coordinate[d];
        place.size *= size;
    }
    return place;
}

}  // namespace

Training::Training(const RunPlan& plan, const parallel::RankContext& context)
    : plan_(plan),
      context_(context),
      strategy_(parallel::declaration(plan.scenario.parallel.data)),
      coordinate_(*plan.mesh.coordinate(context.rank)),
      place_(data_place(plan, coordinate_)),
      rows_(plan.scenario.global_batch / place_.size),
      model_(nn::make_model(plan.scenario.model)) {
    const Scenario& scenario = plan.scenario;
    if (const comm::ProcessGroup* const tp = context.along(mesh::Role::tp)) {
        parallel::TensorParallelOptions options = scenario.parallel.tensor;
        options.sum_each_norm = norms_lie_apart(tp->size());
        options.eager_loss = scenario.ops.eager_loss();
        tensor_parallel_ = std::make_unique<parallel::TensorParallel>(context, options);
    }
    if (const comm::ProcessGroup* const cp = context.along(mesh::Role::cp); cp && cp->size() > 1)
        context_parallel_ = std::make_unique<parallel::ContextParallel>(context, scenario.model.seq,
                                                                        scenario.parallel.context);
    if (scenario.evaluation.every > 0) {
        parallel::RankContext sharing = context;
        if (!strategy_.data_parallel) sharing.groups.clear();  // all do the same
        evaluator_.emplace(scenario, sharing, *model_, place_, !plan.dry);
    }
    runner_ = make_runner();
}

/// Parameters lie in one flat array, or go to ranks by their size, and the tp ranks' parts differ in size: a
/// norm, of which every tp rank has the whole, lies elsewhere on each.
bool Training::norms_lie_apart(int64_t tp_ranks) const {
    const nn::ModelSpec& model = plan_.scenario.model;
    const auto uneven = [&](int64_t size) { return size % tp_ranks != 0; };
    const bool norms_of_heads = model.qk_norm != nn::QkNorm::none;
    return strategy_.flat && (plan_.scenario.parallel.tensor.sequence_parallel || norms_of_heads) &&
           (uneven(model.padded_vocab()) || uneven(model.hidden) ||
            (model.kind == "gpt" && uneven(model.seq)));
}

/// The model, or a stage's: what cuts its work comes before the data strategy.
std::unique_ptr<parallel::Strategy> Training::parallelize(nn::Model& part) const {
    const Scenario& scenario = plan_.scenario;
    if (tensor_parallel_) tensor_parallel_->apply(part);
    if (context_parallel_) context_parallel_->apply(part);
    nn::use_ops(part, scenario.ops);
    nn::checkpoint_layers(part, scenario.parallel.recompute);
    if (scenario.model.norm == nn::Norm::sync_batch) parallel::convert_sync_batch_norm(context_, part);
    return strategy_.make(context_, part, scenario.parallel);
}

/// Gradients of replicas that train apart are averaged over no ranks.
parallel::StepLoss::Options Training::loss_options() const {
    parallel::StepLoss::Options loss{.some_ignored = plan_.scenario.ignore_index.has_value(),
                                     .mean = plan_.scenario.parallel.loss_mean};
    const bool context_alone = !strategy_.data_parallel && context_parallel_;
    const bool averaged = strategy_.data_parallel && strategy_.agrees_every == nullptr;
    if ((averaged && !strategy_.one_process) || context_alone) loss.averaged = context_.groups;
    return loss;
}

std::unique_ptr<parallel::StepRunner> Training::make_runner() {
    const Scenario& scenario = plan_.scenario;
    if (strategy_.one_process) {
        nn::use_ops(*model_, scenario.ops);
        nn::checkpoint_layers(*model_, scenario.parallel.recompute);
        return std::make_unique<parallel::DataParallel>(context_, *model_, rows_, scenario.accumulate,
                                                        loss_options());
    }
    const auto& shape = scenario.parallel.pipeline.shape;
    if (!shape)
        return std::make_unique<parallel::Accumulate>(context_, *model_, parallelize(*model_),
                                                      scenario.accumulate, loss_options());
    return std::make_unique<parallel::pipeline::Pipeline>(
        context_, parallel::pipeline::schedule_of(scenario.parallel.pipeline),
        parallel::pipeline::Setup{{rows_ / shape->microbatches, scenario.parallel.precision.param},
                                  scenario.parallel.pipeline.stage_layers,
                                  loss_options()},
        [&scenario] { return nn::make_model(scenario.model); },
        [this](nn::Model& stage) { return parallelize(stage); });
}

void Training::load(const parallel::InitialValues& values) {
    runner_->load(parallel::PartValues(values));
    std::vector<nn::Optimizer::Slot> slots;
    for (const parallel::LocalParameter& local : runner_->local_parameters())
        slots.push_back({local.parameter->name, local.value});
    const Scenario::Optimizer& o = plan_.scenario.optimizer;
    const bool offloads = strategy_.is(&parallel::Declaration::offloads, plan_.scenario.parallel);
    const auto memory = offloads ? MemoryCategory::offloaded : MemoryCategory::optimizer_state;
    optimizer_ = std::make_unique<nn::Optimizer>(nn::OptimizerSpec{.kind = o.kind,
                                                                   .lr = o.lr,
                                                                   .momentum = o.momentum,
                                                                   .beta1 = o.beta1,
                                                                   .beta2 = o.beta2,
                                                                   .eps = o.eps,
                                                                   .weight_decay = o.weight_decay,
                                                                   .memory = memory},
                                                 std::move(slots), *context_.allocator, context_.recorder);
}

bool Training::reports() const {
    if (!runner_->reads_target()) return false;
    const auto pp = mesh::roles_of(plan_.mesh.names()).of(mesh::Role::pp);
    for (std::size_t d = 0; d < coordinate_.size(); ++d)
        if (d != pp && !is_first_along(d)) return false;
    return true;
}

bool Training::answers_for(const parallel::LocalParameter& local) const {
    if (!local.owned) return false;
    const mesh::Roles roles = mesh::roles_of(plan_.mesh.names());
    const auto tp = roles.of(mesh::Role::tp), pp = roles.of(mesh::Role::pp);
    if (tp && !local.parameter->box.cut() && !is_first_along(*tp)) return false;
    if (local.parameter->box.copy > 0 || local.parameter->tied_copy) return false;  // the first copy answers
    if (strategy_.data_parallel) return true;
    for (std::size_t d = 0; d < coordinate_.size(); ++d)
        if (d != tp && d != pp && !is_first_along(d)) return false;
    return true;
}

std::vector<ParameterPart> Training::parts() {
    std::vector<ParameterPart> parts;
    for (const parallel::LocalParameter& local : runner_->local_parameters()) {
        if (!answers_for(local) || local.copy > 0) continue;
        const nn::Parameter& parameter = *local.parameter;
        ParameterPart& part = parts.emplace_back();
        part.whole_index = parameter.whole_index;
        part.shape = parameter.shape;
        part.box = parameter.box;
        part.first_element = local.first_element;
        part.numbers = tensor::floats_of(local.value);
    }
    return parts;
}

bool Training::has_batch(int32_t step) const {
    const std::vector<int64_t>& batches = plan_.scenario.data_batches;
    return batches.empty() || step < batches[static_cast<std::size_t>(place_.index)];
}

GroupRank Training::last_joiner(int32_t step) const {
    const std::vector<int64_t>& batches = plan_.scenario.data_batches;
    if (batches.empty()) return GroupRank{static_cast<int32_t>(place_.size) - 1};
    int32_t last = 0;
    for (std::size_t r = 0; r < batches.size(); ++r)
        if (step < batches[r]) last = static_cast<int32_t>(r);
    return GroupRank{last};
}

}  // namespace meshscope::run
