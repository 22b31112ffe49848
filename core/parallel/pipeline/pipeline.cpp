#include "core/parallel/pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/parallel/gradient_norm.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel::pipeline {
namespace {

/// GPipe and 1F1B are PyTorch's single-stage schedules, which leave unsharding to the modules' own hooks.
Lowering lowering_of(const Schedule& schedule) {
    return {.unshard = schedule.shape.stages_per_rank > 1, .reduce_grad = true, .in_time = true};
}

}  // namespace

Pipeline::Pipeline(const RankContext& context, const Schedule& schedule, Setup setup,
                   const MakeModel& make_model, const Stage::MakeStrategy& make_strategy)
    : context_(context),
      schedule_(schedule),
      microbatch_(setup.microbatch),
      loss_(context_, std::move(setup.loss), schedule.shape.microbatches) {
    const auto rank = static_cast<std::size_t>(context_.along(mesh::Role::pp)->rank().value);
    actions_ = std::move(lower(schedule_, lowering_of(schedule_)).at(rank));
    const int32_t stages = schedule_.shape.stages();
    for (int32_t stage = 0; stage < stages; ++stage) {
        if (home(stage) != context_.along(mesh::Role::pp)->rank().value) continue;
        std::unique_ptr<nn::Model> model = make_model();
        const LayerRange layers = layers_of_stage(model->n_layers(), stages, stage, setup.stage_layers);
        stages_.push_back(
            std::make_unique<Stage>(context_, StagePlace{stage, stages, schedule_.shape.microbatches, layers},
                                    std::move(model), make_strategy, loss_));
    }
}

Pipeline::~Pipeline() = default;

Stage* Pipeline::find(int32_t stage) const {
    for (const auto& mine : stages_)
        if (mine->index() == stage) return mine.get();
    return nullptr;
}

Stage& Pipeline::own(int32_t stage) const {
    Stage* const found = find(stage);
    if (!found) throw InvalidArgument({"pipeline.not_my_stage", {{"stage", int64_t{stage}}}});
    return *found;
}

void Pipeline::load(const InitialValues& values) {
    for (const auto& stage : stages_) {
        stage->strategy().load(values);
        const auto& theirs = stage->strategy().local_parameters();
        local_.insert(local_.end(), theirs.begin(), theirs.end());
    }
}

std::optional<double> Pipeline::run(int32_t step, const Tensor& x, const Tensor& y) {
    step_ = step;
    x_ = x;
    y_ = y;
    for (const auto& stage : stages_) stage->begin_step();
    if (y_.defined()) loss_.begin(y_);
    for (const Action& action : actions_) {
        if (action.parts.empty()) perform(action);
        for (const Action& part : action.parts) perform(part);
    }
    // As PyTorch's schedules do: all sends are waited for at the end of the step.
    for (comm::Work& work : sends_) work.wait(Stream::p2p);
    sends_.clear();
    n_left_ = 0;
    x_ = y_ = {};
    sum_tied_gradients();
    Stage* const last = find(schedule_.shape.stages() - 1);
    if (!last) return std::nullopt;
    double loss = 0;
    for (int32_t m = 0; m < schedule_.shape.microbatches; ++m) loss += last->loss(m);
    return loss_.of_step(loss);
}

void Pipeline::sum_tied_gradients() {
    Stage* const first = find(0);
    Stage* const last = find(schedule_.shape.stages() - 1);
    const auto gradient = [](Stage* stage) {
        const auto place = stage == nullptr ? std::nullopt : stage->tied();
        return place ? stage->strategy().gradients()[*place] : Tensor();
    };
    const Tensor of_first = gradient(first), of_last = gradient(last);
    if (of_first.defined() && of_last.defined()) {
        const ComputeEvent event(context_.recorder, *context_.allocator, "pp.tied.sum", "embedding");
        event->add(of_first, of_first, of_last);
        event->copy(of_last, of_first);
        return;
    }
    const Tensor& own = of_first.defined() ? of_first : of_last;
    if (!own.defined() || own.n_elements() == 0) return;
    mark(Phase::backward, schedule_.shape.microbatches - 1);
    context_.embedding->all_reduce(own, ReduceOp::sum,
                                   {.cause = {"pp.tied.all_reduce", "embedding"}, .async_op = false});
}

void Pipeline::mark(Phase phase, int32_t microbatch) {
    if (!context_.recorder) return;
    context_.recorder->set_phase(phase);
    context_.recorder->set_microbatch(std::max(0, microbatch));
}

void Pipeline::perform(const Action& action) {
    Stage& stage = own(action.stage);
    const int32_t m = action.microbatch;
    switch (action.kind) {
        case ActionKind::forward:
            mark(Phase::forward, m);
            return forward(stage, m);
        case ActionKind::backward:
        case ActionKind::input_grad:
            mark(Phase::backward, m);
            return backward(stage, m, action.kind == ActionKind::input_grad);
        case ActionKind::weight_grad:
            mark(Phase::backward, m);
            return stage.backward_weight(step_, m);
        case ActionKind::send_f:
        case ActionKind::send_b:
            if (action.kind == ActionKind::send_b && !stage.input_trains()) return;
            mark(action.kind == ActionKind::send_f ? Phase::forward : Phase::backward, m);
            return send(stage, m, action.kind == ActionKind::send_f);
        case ActionKind::recv_f:
        case ActionKind::recv_b:
            if (action.kind == ActionKind::recv_b && !stage.output_trains()) return;
            mark(action.kind == ActionKind::recv_f ? Phase::forward : Phase::backward, m);
            return receive(stage, m, action.kind == ActionKind::recv_f);
        case ActionKind::unshard:
            return stage.strategy().unshard();
        case ActionKind::reshard:
            return stage.strategy().reshard();
        case ActionKind::reduce_grad:
            mark(Phase::backward, schedule_.shape.microbatches - 1);
            return stage.strategy().reduce_gradients();
        default:
            // Waits stand in no lowered order: compute waits for what it reads.
            throw InvalidArgument({"pipeline.bad_action", {{"text", to_text(action)}}});
    }
}

Tensor Pipeline::received(std::map<Key, Receive>& from, const Key& key) {
    auto found = from.extract(key);
    if (found.empty()) throw InvalidArgument({"pipeline.not_received", {{"stage", int64_t{key.first}}}});
    found.mapped().work.wait();
    return std::move(found.mapped().buffer);
}

void Pipeline::forward(Stage& stage, int32_t microbatch) {
    const Key key{stage.index(), microbatch};
    Tensor input, target;
    if (stage.first()) {
        input = x_.narrow(microbatch * microbatch_.rows, microbatch_.rows);
    } else if (auto handed = local_activations_.extract(key); !handed.empty()) {
        input = std::move(handed.mapped());
    } else {
        input = received(activations_, key);
    }
    if (stage.last()) target = y_.narrow(microbatch * microbatch_.rows, microbatch_.rows);
    stage.forward(step_, microbatch, std::move(input), target);
    if (!stage.last() && find(stage.index() + 1))
        local_activations_[{stage.index() + 1, microbatch}] = stage.take_output(microbatch);
}

void Pipeline::backward(Stage& stage, int32_t microbatch, bool input_only) {
    const Key key{stage.index(), microbatch};
    Tensor grad;
    if (auto handed = local_gradients_.extract(key); !handed.empty())
        grad = std::move(handed.mapped());
    else if (!stage.last() && stage.output_trains())
        grad = received(gradients_, key);
    stage.backward(step_, microbatch, std::move(grad), input_only);
    if (stage.input_trains() && find(stage.index() - 1))
        local_gradients_[{stage.index() - 1, microbatch}] = stage.take_input_grad(microbatch);
}

void Pipeline::send(Stage& stage, int32_t microbatch, bool activation) {
    const GroupRank to{home(stage.index() + (activation ? 1 : -1))};
    if (context_.recorder)
        context_.recorder->depend(Stream::p2p, context_.recorder->last_event(Stream::compute));
    sends_.push_back(
        context_.along(mesh::Role::pp)
            ->send(activation ? stage.take_output(microbatch) : stage.take_input_grad(microbatch), to,
                   {.stream = Stream::p2p,
                    .cause = {activation ? "pp.send.activation" : "pp.send.gradient", stage.name()}}));
    // It leaves at once where no receive stands before it in the queue; else with the wait for that one.
    if (activations_.empty() && gradients_.empty()) {
        for (; n_left_ < sends_.size(); ++n_left_) sends_[n_left_].run();
    }
}

void Pipeline::receive(Stage& stage, int32_t microbatch, bool activation) {
    const GroupRank from{home(stage.index() + (activation ? -1 : 1))};
    Receive& under_way = (activation ? activations_ : gradients_)[{stage.index(), microbatch}];
    under_way.buffer = context_.allocator->empty(stage.model().stream_shape(microbatch_.rows),
                                                 microbatch_.stream_dtype, MemoryCategory::activations,
                                                 stage.name() + (activation ? " input" : " output grad"));
    under_way.work =
        context_.along(mesh::Role::pp)
            ->recv(under_way.buffer, from,
                   {.stream = Stream::p2p,
                    .cause = {activation ? "pp.recv.activation" : "pp.recv.gradient", stage.name()}});
}

std::vector<Tensor> Pipeline::gradients() const {
    std::vector<Tensor> all;
    for (const auto& stage : stages_) {
        const std::vector<Tensor> theirs = stage->strategy().gradients();
        all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
}

double Pipeline::gradient_norm() {
    double squares = 0;
    for (const auto& stage : stages_) {
        const double norm = stage->strategy().gradient_norm();
        squares += norm * norm;
    }
    auto sum = static_cast<float>(squares);
    sum_over(*context_.along(mesh::Role::pp), {&sum, 1}, "pp.grad_norm.all_reduce", context_);
    return std::sqrt(double(sum));
}

void Pipeline::after_step() {
    for (const auto& stage : stages_) stage->strategy().after_step();
}

std::vector<int64_t> Pipeline::remembered() const {
    std::vector<int64_t> records;
    for (const auto& stage : stages_) {
        const std::vector<int64_t> learned = stage->strategy().remembered();
        if (learned.empty()) continue;
        records.insert(records.end(),
                       {schedule_.shape.stages(), stage->index(), static_cast<int64_t>(learned.size())});
        records.insert(records.end(), learned.begin(), learned.end());
    }
    return records;
}

std::vector<KeptState> Pipeline::kept() {
    std::vector<KeptState> all;
    for (const auto& stage : stages_) {
        const std::vector<KeptState> theirs = stage->strategy().kept();
        all.resize(theirs.size());
        for (std::size_t k = 0; k < theirs.size(); ++k) {
            all[k].name = theirs[k].name;
            all[k].arrays.insert(all[k].arrays.end(), theirs[k].arrays.begin(), theirs[k].arrays.end());
        }
    }
    return all;
}

void Pipeline::remember(std::span<const int64_t> state) {
    constexpr std::size_t kHeader = 3;
    std::map<int64_t, std::span<const int64_t>> by_stage;
    while (!state.empty()) {
        if (state.size() < kHeader || state[0] != schedule_.shape.stages() || state[2] < 0 ||
            std::cmp_greater(state[2], state.size() - kHeader))
            return;
        const auto learned = state.subspan(kHeader, static_cast<std::size_t>(state[2]));
        const auto [there, added] = by_stage.emplace(state[1], learned);
        if (!added && !std::ranges::equal(there->second, learned)) return;
        state = state.subspan(kHeader + learned.size());
    }
    for (const auto& stage : stages_)
        if (const auto found = by_stage.find(stage->index()); found != by_stage.end())
            stage->strategy().remember(found->second);
}

}  // namespace meshscope::parallel::pipeline
