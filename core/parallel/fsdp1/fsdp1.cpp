#include "core/parallel/fsdp1/fsdp1.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/parallel/gradient_norm.h"

namespace meshscope::parallel {
namespace {

constexpr std::size_t kMostGathersInFlight = 2;  // _FreeEventQueue._max_num_inflight_all_gathers
constexpr int64_t kAlignmentBytes = 16;          // _get_aligned_numel

constexpr FlatRules kFsdp1Rules{"fsdp1.unshard.forward",          "fsdp1.unshard.backward",
                                "fsdp1.prefetch.forward",         "fsdp1.prefetch.backward",
                                "fsdp1.reduce_scatter.gradients", "fsdp1.all_reduce.replicas",
                                "fsdp1.all_reduce.gradients",     "fsdp1.grad_norm.all_reduce"};

constexpr FlatRules kZero3Rules{"zero3.gather.forward",           "zero3.gather.backward",
                                "zero3.prefetch.forward",         "zero3.prefetch.backward",
                                "zero3.reduce_scatter.gradients", "fsdp1.all_reduce.replicas",
                                "zero.all_reduce.gradients",      "zero.grad_norm.all_reduce"};

/// ZeRO-3's units, cut where they hold frozen and trained parameters: each part is gathered by itself, and
/// gradients are reduced of what is trained alone.
std::vector<UnitPlan> uniform_units(std::vector<UnitPlan> plans) {
    std::vector<UnitPlan> uniform;
    for (UnitPlan& plan : plans) {
        UnitPlan frozen = plan;
        frozen.name += " (frozen)";
        std::erase_if(plan.parameters, [](const nn::Parameter* p) { return p->frozen; });
        std::erase_if(frozen.parameters, [](const nn::Parameter* p) { return !p->frozen; });
        if (!frozen.parameters.empty()) uniform.push_back(std::move(frozen));
        if (!plan.parameters.empty() || plan.is_root) uniform.push_back(std::move(plan));
    }
    return uniform;
}

}  // namespace

Fsdp1::Fsdp1(const RankContext& context, nn::Model& model, Fsdp1Options options)
    : context_(context), model_(model), options_(std::move(options)) {
    choose_groups();
    const bool by_size = options_.units.empty() && options_.wrap_min_elements > 0;
    if (by_size) options_.units = units_by_size(model_, options_.wrap_min_elements);
    const int64_t alignment =
        options_.use_orig_params ? kAlignmentBytes / bytes_per_element(options_.precision.param) : 1;
    const NoUnits none = by_size ? NoUnits::root_only : NoUnits::layers;
    std::vector<UnitPlan> plans = plan_units(model_, options_.units, none);
    if (options_.zero_names) plans = uniform_units(std::move(plans));
    for (UnitPlan& plan : plans) {
        auto state = std::make_unique<State>();
        state->unit =
            std::make_unique<FlatUnit>(plan.name, std::move(plan.parameters), context_, comm_, alignment);
        state->modules = plan.modules;
        state->is_root = plan.is_root;
        if (!state->unit->empty())
            hang_hooks(plan.modules, {.pre_forward = [this, &unit = *state] { pre_forward(unit); },
                                      .post_forward = [this, &unit = *state] { post_forward(unit); },
                                      .pre_backward = [this, &unit = *state] { pre_backward(unit); },
                                      .post_backward = [this, &unit = *state] { post_backward(unit); }});
        states_.push_back(std::move(state));
    }
}

Fsdp1::~Fsdp1() = default;

void Fsdp1::choose_groups() {
    const std::size_t ndim = context_.groups.size();
    const bool hybrid = is_hybrid(options_.strategy);
    if (ndim != (hybrid ? 2U : 1U))
        throw InvalidArgument({"fsdp1.mesh_ndim", {{"ndim", static_cast<int64_t>(ndim)}}});
    comm_.rules = options_.zero_names ? &kZero3Rules : &kFsdp1Rules;
    comm_.precision = options_.precision;
    comm_.shard = context_.groups.back();
    if (hybrid) comm_.replicate = context_.groups.front();
    int64_t ranks = comm_.shard->size();
    if (hybrid) ranks *= comm_.replicate->size();
    comm_.divide_by(ranks);
    if (comm_.shard->size() == 1 && hybrid)
        throw InvalidArgument({"fsdp1.hybrid_shard_of_one", {{"ranks", ranks}}});
    // PyTorch makes one rank NO_SHARD: there is nothing to cut.
    if (comm_.shard->size() == 1) options_.strategy = ShardingStrategy::no_shard;
    if (options_.strategy == ShardingStrategy::no_shard)
        comm_.replicate = std::exchange(comm_.shard, nullptr);
    if (!comm_.shard && options_.precision.param != DType::float32)
        throw InvalidArgument({"scenario.precision_needs_shards", {}});
}

void Fsdp1::load(const InitialValues& values) {
    const bool owned = !comm_.replicate || comm_.replicate->rank() == GroupRank{0};
    for (auto& state : states_) {
        state->unit->load(values);
        state->unit->append_local(local_, owned);
    }
}

void Fsdp1::before_forward(const Pass& pass) {
    sync_ = pass.last || options_.reduce_each_microbatch;
    post_forward_order_.clear();
    for (auto& state : states_) {
        state->ran_forward = state->ran_backward = 0;
        state->needs_forward_unshard = true;
        state->needs_backward_unshard = state->prefetched = false;
    }
    if (context_.recorder)  // gathers must see what the optimizer wrote
        context_.recorder->depend(Stream::all_gather, context_.recorder->last_event(Stream::compute));
}

void Fsdp1::unshard(State& state, std::string_view rule, bool prefetch) {
    trace::Recorder* recorder = context_.recorder;
    if (options_.limit_all_gathers && frees_.size() >= kMostGathersInFlight) {
        if (recorder) recorder->depend(Stream::all_gather, frees_.front());
        frees_.pop_front();
    }
    state.unit->unshard(rule, prefetch);
}

void Fsdp1::reshard(State& state, bool frees) {
    if (frees && state.unit->reshard() && options_.limit_all_gathers && context_.recorder)
        frees_.push_back(context_.recorder->last_event(Stream::compute));
    state.prefetched = false;
}

void Fsdp1::pre_forward(State& state) {
    if (state.ran_forward++ > 0) return;
    if (first_pass_) pre_forward_order_.push_back(&state);
    if (!state.prefetched) unshard(state, comm_.rules->unshard_forward, false);
    state.needs_forward_unshard = false;
    state.unit->wait_for_unshard();
    if (options_.forward_prefetch && !first_pass_) prefetch_forward(state);
}

void Fsdp1::prefetch_forward(const State& state) {
    const auto here = std::ranges::find(pre_forward_order_, &state);
    if (here == pre_forward_order_.end() || std::next(here) == pre_forward_order_.end()) return;
    State& next = **std::next(here);
    if (!next.needs_forward_unshard || next.prefetched) return;
    unshard(next, comm_.rules->prefetch_forward, true);
    next.prefetched = true;
}

void Fsdp1::post_forward(State& state) {
    if (state.ran_forward < state.modules.size()) return;
    post_forward_order_.push_back(&state);
    reshard(state, frees_after_forward(options_.strategy) && (options_.free_root || !state.is_root));
    // PyTorch hangs it on outputs that need a gradient.
    state.needs_backward_unshard =
        std::ranges::any_of(state.modules, [](const nn::Module* m) { return m->output_needs_grad; });
}

void Fsdp1::pre_backward(State& state) {
    if (state.ran_backward > 0 || !state.needs_backward_unshard) return;
    if (!state.prefetched) unshard(state, comm_.rules->unshard_backward, false);
    state.needs_backward_unshard = false;
    state.unit->wait_for_unshard();
    if (options_.backward_prefetch == BackwardPrefetch::pre) prefetch_backward(state);
}

/// The unit that ended forward just before this one will be needed next.
void Fsdp1::prefetch_backward(const State& state) {
    const auto here = std::ranges::find(post_forward_order_, &state);
    if (here == post_forward_order_.end() || here == post_forward_order_.begin()) return;
    State& next = **std::prev(here);
    if (!next.needs_backward_unshard || next.prefetched) return;
    unshard(next, comm_.rules->prefetch_backward, true);
    next.prefetched = true;
}

void Fsdp1::post_backward(State& state) {
    if (++state.ran_backward < state.modules.size()) return;
    // Without a reduction shard_grad_op keeps the parameters for the next micro-batch: PyTorch's heuristic.
    reshard(state, sync_ || frees_after_forward(options_.strategy));
    if (options_.backward_prefetch == BackwardPrefetch::post) prefetch_backward(state);
    if (!sync_ || !state.unit->trains()) return;
    if (reducing_) reducing_->settle();  // frees the gradients that were on their way
    state.unit->reduce_gradients();
    reducing_ = state.unit.get();
}

void Fsdp1::after_backward(const Pass&) {
    first_pass_ = false;
    if (reducing_) reducing_->settle();
    reducing_ = nullptr;
    for (auto& state : states_) {
        state->unit->drop_stale_gather();
        if (state->ran_backward == 0)  // backward did not reach it: nothing below is trained
            reshard(*state, sync_ || frees_after_forward(options_.strategy));
    }
    if (trace::Recorder* recorder = context_.recorder) {
        recorder->depend(Stream::compute, recorder->last_event(Stream::reduce_scatter));
        recorder->depend(Stream::compute, recorder->last_event(Stream::all_reduce));
    }
}

std::vector<Tensor> Fsdp1::gradients() const {
    std::vector<Tensor> gradients;
    for (const auto& state : states_) state->unit->append_gradients(gradients);
    return gradients;
}

double Fsdp1::gradient_norm() {
    return sharded_gradient_norm(gradients(), local_, comm_.shard, comm_.rules->grad_norm, context_);
}

void Fsdp1::after_step() {
    for (auto& state : states_) state->unit->drop_gradients();
}

}  // namespace meshscope::parallel
