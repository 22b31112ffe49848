#include "core/parallel/fsdp2/fsdp2.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/parallel/gradient_norm.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

Fsdp2::Fsdp2(const RankContext& context, nn::Model& model, Fsdp2Options options)
    : context_(context), model_(model), options_(std::move(options)) {
    const std::size_t ndim = context_.groups.size();
    if (ndim != 1 && ndim != 2)
        throw InvalidArgument({"fsdp2.mesh_ndim", {{"ndim", static_cast<int64_t>(ndim)}}});
    comm::ProcessGroup* shard = context_.groups.back();
    comm_.precision = options_.precision;
    comm_.cpu_offload = options_.cpu_offload;
    comm_.shard = shard->size() > 1 ? shard : nullptr;
    comm_.replicate = ndim == 2 ? context_.groups.front() : nullptr;

    comm_.divide = GradientDivide::of(shard->size(), comm_.replicate ? comm_.replicate->size() : 1,
                                      options_.precision.reduce, options_.gradient_divide_factor,
                                      options_.force_sum_reduction);

    for (UnitPlan& plan : plan_units(model_, options_.units)) add_unit(std::move(plan));
    order_by_modules();
    model_.hooks.post_forward.push_back([this](nn::Module&) {
        // The last gather's buffer has served its overlap.
        if (context_.recorder) {
            context_.recorder->depend(Stream::copy, comm_.previous_copy_out);
            context_.recorder->depend(Stream::all_gather, comm_.previous_copy_out);
        }
        comm_.previous_gather = {};
        comm_.previous_copy_out = -1;
    });
}

Fsdp2::~Fsdp2() = default;

ReshardAfterForward Fsdp2::after_forward_of(const UnitPlan& plan, std::size_t index) const {
    ReshardAfterForward after = options_.reshard_after_forward;
    bool keeps_root = options_.keep_root;
    const auto& by_unit = options_.reshard_by_unit;
    if (!by_unit.empty()) {
        keeps_root = index >= by_unit.size();  // PyTorch's default, where the list does not name the root
        if (!keeps_root) after = by_unit[index];
    }
    if (plan.is_root && keeps_root) after = {false, 0};
    // PyTorch: a factor of 1 keeps the unit, one of the shard size is no special case.
    if (after.parts == 1) after = {false, 0};
    if (!comm_.shard || after.parts == comm_.shard->size()) after.parts = 0;
    return after;
}

/// PyTorch's all_states: as named_modules() comes upon them.
void Fsdp2::order_by_modules() {
    std::map<const nn::Module*, State*> left;
    for (const auto& state : states_)
        if (!state->is_root)
            for (const nn::Module* module : state->modules) left.emplace(module, state.get());
    std::set<const State*> seen;
    const auto visit = [&](const auto& self, const nn::Module& module) -> void {
        if (const auto found = left.find(&module); found != left.end() && seen.insert(found->second).second)
            in_module_order_.push_back(found->second);
        for (const nn::Module* child : module.children()) self(self, *child);
    };
    visit(visit, model_);
}

void Fsdp2::add_unit(UnitPlan plan) {
    auto state = std::make_unique<State>();
    state->index = states_.size();
    state->after_forward = after_forward_of(plan, state->index);
    const int64_t parts = state->after_forward.parts;
    state->unit = std::make_unique<Unit>(std::move(plan.name), std::move(plan.parameters), context_, comm_,
                                         parts > 0 ? context_.shard_parts.at(parts) : nullptr);
    state->modules = std::move(plan.modules);
    state->is_root = plan.is_root;
    hang_hooks(state->modules, {.pre_forward = [this, &unit = *state] { pre_forward(unit); },
                                .post_forward = [this, &unit = *state] { post_forward(unit); },
                                .pre_backward = [this, &unit = *state] { pre_backward(unit); },
                                .post_backward = [this, &unit = *state] { post_backward(unit); }});
    states_.push_back(std::move(state));
}

void Fsdp2::load(const InitialValues& values) {
    const bool owned = !comm_.replicate || comm_.replicate->rank() == GroupRank{0};
    std::vector<LocalParameter> by_unit;
    std::vector<std::pair<std::size_t, std::size_t>> source;
    for (std::size_t u = 0; u < states_.size(); ++u) {
        states_[u]->unit->load(values);
        const std::size_t before = by_unit.size();
        states_[u]->unit->append_local(by_unit, owned);
        for (std::size_t i = before; i < by_unit.size(); ++i) source.emplace_back(u, i - before);
    }
    std::vector<std::size_t> order(by_unit.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return by_unit[i].parameter->index; });
    for (const std::size_t i : order) {
        local_.push_back(by_unit[i]);
        source_.push_back(source[i]);
    }
}

void Fsdp2::before_forward(const Pass& pass) {
    sync_ = pass.last;
    for (auto& state : states_) state->ran_forward = state->ran_backward = 0;
    if (trace::Recorder* recorder = context_.recorder) {  // gathers must see what the optimizer wrote
        recorder->depend(Stream::copy, recorder->last_event(Stream::compute));
        recorder->depend(Stream::all_gather, recorder->last_event(Stream::compute));
    }
}

void Fsdp2::pre_forward(State& state) {
    if (state.ran_forward++ > 0) return;
    state.unit->unshard("fsdp2.unshard.forward", false);
    state.unit->wait_for_unshard(true);
    prefetch_neighbours(state, options_.forward_prefetch_units, 1, "fsdp2.prefetch.forward");
}

void Fsdp2::post_forward(State& state) {
    if (state.ran_forward < state.modules.size() || state.unit->empty()) return;
    state.post_forward_indices.push_back(post_forward_order_.size());
    post_forward_order_.push_back(&state);
    if (state.after_forward.reshard) state.unit->reshard_after_forward();
}

void Fsdp2::pre_backward(State& state) {
    if (state.ran_backward > 0 || state.unit->empty()) return;
    state.unit->unshard("fsdp2.unshard.backward", false);
    state.unit->wait_for_unshard(false);
    if (options_.backward_prefetch_units > 0 && !state.is_root)
        prefetch_neighbours(state, options_.backward_prefetch_units, -1, "fsdp2.prefetch.backward");
    else if (options_.backward_prefetch)
        prefetch_before(state);
}

/// What set_modules_to_forward_prefetch and set_modules_to_backward_prefetch were told; the root has no list.
void Fsdp2::prefetch_neighbours(const State& state, int32_t units, int64_t direction, std::string_view rule) {
    if (state.is_root) return;
    const auto n_units = static_cast<int64_t>(states_.size()) - 1;
    for (int64_t i = 1; i <= units; ++i) {
        const int64_t other = static_cast<int64_t>(state.index) + direction * i;
        if (other < 0 || other >= n_units) return;
        states_[static_cast<std::size_t>(other)]->unit->unshard(rule, true);
    }
}

/// The unit that ran forward just before this one will be needed next.
void Fsdp2::prefetch_before(State& state) {
    if (state.post_forward_indices.empty()) return;
    const std::size_t index = state.post_forward_indices.back();
    state.post_forward_indices.pop_back();
    if (index > 0) post_forward_order_[index - 1]->unit->unshard("fsdp2.prefetch.backward", true);
}

void Fsdp2::post_backward(State& state) {
    if (++state.ran_backward < state.modules.size()) return;
    if (options_.pipeline) {
        state.unit->keep_gradients();
        return;
    }
    // PyTorch hangs it on the gradients of the module's inputs: where none needs one, it comes when all of
    // backward is over, the root's first and then in the order of modules.
    const auto begins = [](const nn::Module* module) { return !module->input_needs_grad; };
    state.put_off = !state.is_root && std::ranges::any_of(state.modules, begins);
    if (state.put_off) return;
    end_backward(state);
    if (!state.is_root) return;
    for (State* const late : in_module_order_) {
        const bool partly = late->ran_backward > 0 && late->ran_backward < late->modules.size();
        if (std::exchange(late->put_off, false) || partly) end_backward(*late);
    }
}

void Fsdp2::end_backward(State& state) {
    if (options_.reshard_after_backward || sync_) state.unit->reshard();
    if (sync_ || options_.gradient_sync != GradientSync::last)
        state.unit->reduce_gradients(sync_ || options_.gradient_sync == GradientSync::every);
    else
        state.unit->keep_gradients();
}

void Fsdp2::before_backward(const Pass&) {
    for (auto& state : states_) state->ran_backward = 0;
}

void Fsdp2::reduce_gradients() {
    // As backward would: the last unit of forward first, the root at the end.
    const auto reduce = [](Unit& unit) {
        unit.reshard();
        unit.reduce_gradients();
    };
    for (std::size_t i = states_.size() - 1; i-- > 0;) reduce(*states_[i]->unit);
    reduce(*states_.back()->unit);
    for (auto& state : states_) state->unit->finish_backward();
}

void Fsdp2::unshard() {
    for (auto& state : states_) state->unit->unshard("fsdp2.unshard.pipeline", true);
}

void Fsdp2::reshard() {
    for (auto& state : states_) {
        state->unit->finish_backward();  // a gather that nobody came for
        state->unit->reshard();
    }
}

void Fsdp2::after_backward(const Pass& pass) {
    // The hooks of a backward in two halves ran in the first, before there were gradients to keep. (PyTorch's
    // W leaves them in the type they were computed in until the next post_backward.)
    for (auto& state : states_) {
        if (options_.pipeline)
            state->unit->keep_gradients();
        else if (state->ran_backward == 0 && (options_.reshard_after_backward || sync_))
            state->unit->reshard();  // backward did not reach it: nothing below is trained
    }
    if (options_.set_is_last_backward && !pass.last) return;
    for (auto& state : states_) {
        state->unit->finish_backward();
        state->post_forward_indices.clear();
    }
    post_forward_order_.clear();
}

std::vector<Tensor> Fsdp2::gradients() const {
    std::vector<std::vector<Tensor>> by_unit;
    for (const auto& state : states_) by_unit.push_back(state->unit->gradients());
    std::vector<Tensor> gradients;
    for (const auto& [unit, i] : source_) gradients.push_back(by_unit[unit][i]);
    return gradients;
}

double Fsdp2::gradient_norm() {
    const std::vector<Tensor> grads = gradients();
    std::vector<float> squares;
    std::vector<LocalParameter> trained;
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "grad_norm", "model");
        for (std::size_t i = 0; i < grads.size(); ++i) {
            if (!grads[i].defined()) continue;
            squares.push_back(static_cast<float>(event->sum_of_squares(grads[i])));
            trained.push_back(local_[i]);
        }
    }
    if (comm_.shard) sum_over(*comm_.shard, squares, "clip.grad_norm.all_reduce", context_);
    return model_norm(std::vector<double>(squares.begin(), squares.end()), trained, context_);
}

void Fsdp2::after_step() {
    for (auto& state : states_) state->unit->drop_gradients();
}

}  // namespace meshscope::parallel
