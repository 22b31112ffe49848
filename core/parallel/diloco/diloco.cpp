#include "core/parallel/diloco/diloco.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/parallel/declaration.h"
#include "core/parallel/record_ownership.h"
#include "core/parallel/whole_parameters.h"
#include "core/tensor/kernels.h"

namespace meshscope::parallel {

LocalSgd::LocalSgd(const RankContext& context, nn::Model& model, const DilocoOptions& options)
    : context_(context), model_(model), options_(options) {}

void LocalSgd::load(const InitialValues& values) {
    local_ = allocate_whole(model_, *context_.allocator, &values, true);
    for (LocalParameter& local : local_) local.copy = group().rank().value;
    record_whole(context_, model_);
}

std::vector<Tensor> LocalSgd::gradients() const {
    return whole_gradients(model_);
}

double LocalSgd::gradient_norm() {
    return whole_gradient_norm(local_, context_);
}

void LocalSgd::after_step() {
    drop_gradients(model_);
    ++steps_;
    synchronise();
}

void LocalSgd::remember(std::span<const int64_t> numbers) {
    if (numbers.size() != 1 || numbers[0] < 0)
        throw InvalidArgument(
            {"local_sgd.state", {{"found", static_cast<int64_t>(numbers.size())}, {"wanted", int64_t{1}}}});
    steps_ = numbers[0];
}

void LocalSgd::synchronise() {
    if (steps_ % options_.sync_every != 0) return;
    int64_t elements = 0;
    for (const LocalParameter& local : local_) elements += local.value.n_elements();
    const Tensor all = context_.allocator->empty({elements}, DType::float32, MemoryCategory::communication,
                                                 "LocalSGD parameters");
    const auto each_part = [&](const auto& take) {
        int64_t at = 0;
        for (const LocalParameter& local : local_) {
            const Tensor part = all.slice(at, local.value.n_elements());
            take(part, local.value.flat());
            at += part.n_elements();
        }
    };
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "local_sgd.copy_in", "model");
        each_part([&](const Tensor& part, const Tensor& local) { event->copy(part, local); });
    }
    if (context_.recorder)
        context_.recorder->depend(Stream::all_reduce, context_.recorder->last_event(Stream::compute));
    group()
        .all_reduce(all, ReduceOp::avg,
                    {.stream = Stream::all_reduce, .cause = {"local_sgd.all_reduce.parameters", "model"}})
        .wait();
    const ComputeEvent event(context_.recorder, *context_.allocator, "local_sgd.copy_out", "model");
    each_part([&](const Tensor& part, const Tensor& local) { event->copy(local, part); });
}

std::vector<std::vector<nn::Parameter*>> cut_into_fragments(const nn::Model& model, int64_t fragments) {
    std::vector<std::vector<nn::Parameter*>> modules;
    std::string before;
    int64_t left = 0;  // elements not yet in a fragment
    for (const auto& parameter : model.all_parameters()) {
        const std::string module = parameter->name.substr(0, parameter->name.rfind('.'));
        if (modules.empty() || module != before) modules.emplace_back();
        before = module;
        modules.back().push_back(parameter.get());
        left += tensor::count(parameter->shape);
    }
    const auto elements = [](const std::vector<nn::Parameter*>& parameters) {
        int64_t sum = 0;
        for (const nn::Parameter* parameter : parameters) sum += tensor::count(parameter->shape);
        return sum;
    };
    std::vector<std::vector<nn::Parameter*>> cut;
    std::size_t next = 0;
    for (int64_t f = std::min<int64_t>(fragments, std::ssize(modules)); f > 0; --f) {
        std::vector<nn::Parameter*>& fragment = cut.emplace_back();
        const int64_t share = left / f;
        int64_t held = 0;
        // One module at least, one for each fragment to come, and more while that comes nearer to the share.
        while (next < modules.size() && std::ssize(modules) - static_cast<int64_t>(next) >= f) {
            const int64_t more = elements(modules[next]);
            if (held > 0 && f > 1 && held + more / 2 > share) break;
            fragment.insert(fragment.end(), modules[next].begin(), modules[next].end());
            held += more;
            ++next;
        }
        left -= held;
    }
    return cut;
}

Tensor Diloco::Fragment::part(const Tensor& of, std::size_t i) const {
    if (!of.defined()) return {};
    return of.slice(first[i], tensor::count(parameters[i]->shape)).view(parameters[i]->shape);
}

Diloco::Diloco(const RankContext& context, nn::Model& model, const DilocoOptions& options)
    : LocalSgd(context, model, options) {
    for (std::vector<nn::Parameter*>& parameters : cut_into_fragments(model, options.fragments)) {
        Fragment& fragment = fragments_.emplace_back();
        fragment.name = "fragment " + std::to_string(fragments_.size() - 1);
        fragment.parameters = std::move(parameters);
        for (const nn::Parameter* parameter : fragment.parameters) {
            fragment.first.push_back(fragment.elements);
            fragment.elements += tensor::count(parameter->shape);
        }
    }
}

Tensor Diloco::make(const Fragment& fragment, const char* what, MemoryCategory category) const {
    return context_.allocator->zeros({fragment.elements}, DType::float32, category, fragment.name + what);
}

void Diloco::load(const InitialValues& values) {
    LocalSgd::load(values);
    for (Fragment& fragment : fragments_) {
        fragment.global = make(fragment, " global parameters", MemoryCategory::optimizer_state);
        for (std::size_t i = 0; i < fragment.parameters.size(); ++i)
            kernels().copy(fragment.part(fragment.global, i), fragment.parameters[i]->value);
        if (options_.outer_momentum != 0)
            fragment.momentum = make(fragment, " outer momentum", MemoryCategory::optimizer_state);
    }
}

Diloco::Fragment* Diloco::in_turn(int64_t steps) {
    const auto f = static_cast<std::size_t>((steps - 1) / period() % options_.fragments);
    return f < fragments_.size() ? &fragments_[f] : nullptr;
}

void Diloco::synchronise() {
    Fragment* const fragment = in_turn(steps_);
    if (fragment == nullptr) return;
    const int64_t step = (steps_ - 1) % period() + 1;
    if (step == period() - options_.fragment_sync_delay) send(*fragment);
    if (step == period()) update(*fragment);
}

void Diloco::send(Fragment& fragment) {
    fragment.pseudogradient = make(fragment, " pseudo-gradient", MemoryCategory::communication);
    const Tensor& difference = fragment.pseudogradient;
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "diloco.pseudogradient",
                                 fragment.name);
        event->copy(difference, fragment.global);
        for (std::size_t i = 0; i < fragment.parameters.size(); ++i)
            event->axpy(fragment.part(difference, i), -1, fragment.parameters[i]->value);
    }
    if (context_.recorder)
        context_.recorder->depend(Stream::all_reduce, context_.recorder->last_event(Stream::compute));
    fragment.work = group().all_reduce(
        difference, ReduceOp::avg,
        {.stream = Stream::all_reduce, .cause = {"diloco.all_reduce.pseudogradient", fragment.name}});
}

void Diloco::update(Fragment& fragment) {
    if (fragment.work.valid()) fragment.work.wait();
    fragment.work = {};
    const auto momentum = static_cast<float>(options_.outer_momentum);
    {
        const ComputeEvent event(context_.recorder, *context_.allocator, "diloco.outer_step", fragment.name);
        const Tensor& gradient = fragment.pseudogradient;
        if (momentum != 0) {  // torch.optim.SGD(nesterov=True)
            event->scale(fragment.momentum, momentum);
            event->axpy(fragment.momentum, 1, gradient);
            event->axpy(gradient, momentum, fragment.momentum);
        }
        event->axpy(fragment.global, -static_cast<float>(options_.outer_lr), gradient);
    }
    fragment.pseudogradient = {};
    const auto alpha = static_cast<float>(options_.fragment_update_alpha);
    if (alpha == 1) return;  // training goes on from the local parameters
    const ComputeEvent event(context_.recorder, *context_.allocator, "diloco.merge", fragment.name);
    for (std::size_t i = 0; i < fragment.parameters.size(); ++i) {
        const Tensor& local = fragment.parameters[i]->value;
        if (alpha == 0) {
            event->copy(local, fragment.part(fragment.global, i));
        } else {
            event->scale(local, alpha);
            event->axpy(local, 1 - alpha, fragment.part(fragment.global, i));
        }
    }
}

void Diloco::remember(std::span<const int64_t> numbers) {
    LocalSgd::remember(numbers);
    if (steps_ % period() < period() - options_.fragment_sync_delay || steps_ % period() == 0) return;
    if (Fragment* const under_way = in_turn(steps_ + 1))
        under_way->pseudogradient = make(*under_way, " pseudo-gradient", MemoryCategory::communication);
}

std::vector<KeptState> Diloco::kept() {
    std::vector<KeptState> states;
    const auto add = [&](const char* name, Tensor Fragment::*array) {
        KeptState& state = states.emplace_back(KeptState{name, {}});
        state.arrays.resize(local_.size());
        for (Fragment& fragment : fragments_) {
            if (fragment.work.valid()) fragment.work.wait();
            for (std::size_t i = 0; i < fragment.parameters.size(); ++i)
                state.arrays[static_cast<std::size_t>(fragment.parameters[i]->index)] =
                    fragment.part(fragment.*array, i);
        }
    };
    add("global", &Fragment::global);
    if (options_.outer_momentum != 0) add("outer_momentum", &Fragment::momentum);
    if (options_.fragment_sync_delay != 0) add("pseudogradient", &Fragment::pseudogradient);
    return states;
}

namespace {

constexpr int64_t kMostSteps = int64_t{1} << 31;

constexpr StrategyKey kSyncEveryKey{
    "sync_every", "required", StrategyKey::Integer{1, kMostSteps, [](StrategyOptions& o, int64_t steps) {
                                                       o.diloco.sync_every = steps;
                                                   }}};
constexpr StrategyKey kLocalSgdKeys[] = {kSyncEveryKey};
constexpr StrategyKey kDilocoKeys[] = {
    kSyncEveryKey,
    {"outer_lr", "0.7",
     StrategyKey::Number{0, 1e6, false, [](StrategyOptions& o, double lr) { o.diloco.outer_lr = lr; }}},
    {"outer_momentum", "0.9",
     StrategyKey::Number{0, 1, true, [](StrategyOptions& o, double m) { o.diloco.outer_momentum = m; }}},
    {"fragments", "1",
     StrategyKey::Integer{1, 1 << 16, [](StrategyOptions& o, int64_t n) { o.diloco.fragments = n; }}},
    {"fragment_sync_delay", "0",
     StrategyKey::Integer{0, kMostSteps,
                          [](StrategyOptions& o, int64_t steps) { o.diloco.fragment_sync_delay = steps; }}},
    {"fragment_update_alpha", "0.0",
     StrategyKey::Number{0, 1, true,
                         [](StrategyOptions& o, double alpha) { o.diloco.fragment_update_alpha = alpha; }}},
};

/// Ranks of a cp group see parts of one sample: their gradients must be summed in every step.
void refuse_context(const StrategyUse& use, std::string_view word, std::vector<Refusal>& found) {
    if (use.mesh_known && use.dim(mesh::Role::cp))
        found.push_back({"data", {"scenario.local_steps_cp", {{"strategy", std::string(word)}}}});
}

std::vector<Refusal> local_sgd_refusals(const StrategyOptions&, const StrategyUse& use) {
    std::vector<Refusal> found;
    refuse_context(use, "local_sgd", found);
    return found;
}

/// torchft raises a ValueError for each but the one of the modules, which it is given.
std::vector<Refusal> diloco_refusals(const StrategyOptions& options, const StrategyUse& use) {
    const DilocoOptions& o = options.diloco;
    std::vector<Refusal> found;
    refuse_context(use, "diloco", found);
    if (const nn::Model* const model = use.model()) {
        const auto most = std::ssize(cut_into_fragments(*model, o.fragments));
        if (most < o.fragments)
            found.push_back(
                {"fragments", {"scenario.diloco_modules", {{"fragments", o.fragments}, {"most", most}}}});
    }
    if (o.sync_every % o.fragments != 0) {
        found.push_back(
            {"fragments",
             {"scenario.diloco_fragments", {{"fragments", o.fragments}, {"steps", o.sync_every}}}});
    } else if (o.fragment_sync_delay >= o.sync_every / o.fragments) {
        found.push_back({"fragment_sync_delay",
                         {"scenario.diloco_delay",
                          {{"delay", o.fragment_sync_delay}, {"period", o.sync_every / o.fragments}}}});
    }
    return found;
}

int64_t one_cycle(const StrategyOptions& options) {
    return options.diloco.sync_every;
}

/// The longest cycle that is predicted step by step.
constexpr int64_t kMostPlayed = 1024;

/// A cycle, whose last step synchronises; with a delay as far as the next step in which a pseudo-gradient
/// leaves, so that what it meets on its way is among them.
int64_t steps_to_tell(const StrategyOptions& options) {
    const DilocoOptions& o = options.diloco;
    if (o.sync_every > kMostPlayed) return 0;
    const int64_t delay = o.fragment_sync_delay;
    return o.sync_every + (delay > 0 ? o.sync_every / o.fragments - delay : 0);
}

/// As many fragments, each in flight for as many steps where that is not too long either.
std::optional<StrategyOptions> short_cycle(const StrategyOptions& options, int64_t steps) {
    StrategyOptions shorter = options;
    DilocoOptions& o = shorter.diloco;
    if (o.sync_every <= kMostPlayed || steps < o.sync_every / o.fragments) return std::nullopt;
    const int64_t period = std::clamp<int64_t>(kMostPlayed / o.fragments, 3, o.fragment_sync_delay + 3);
    if (period * o.fragments > kMostPlayed) return std::nullopt;  // so many fragments have no short one
    o.fragment_sync_delay = std::min(o.fragment_sync_delay, period - 1);
    o.sync_every = period * o.fragments;
    return shorter;
}

}  // namespace

extern const Declaration kLocalSgd, kDiloco;
const Declaration kLocalSgd{.id = DataStrategy::local_sgd,
                            .word = "local_sgd",
                            .dims = DataDims::replicate,
                            .dims_hint = "scenario.hint.dims_local_steps",
                            .keys = kLocalSgdKeys,
                            .in_pipelines = true,
                            .telling_steps = steps_to_tell,
                            .short_cycle = short_cycle,
                            .agrees_every = one_cycle,
                            .state_word =
                                [](const StrategyOptions& options, int64_t replicas) {
                                    return std::to_string(replicas) + " replicas, every " +
                                           std::to_string(options.diloco.sync_every);
                                },
                            .refusals = local_sgd_refusals,
                            .make = [](const RankContext& context, nn::Model& model,
                                       const StrategyOptions& options) -> std::unique_ptr<Strategy> {
                                return std::make_unique<LocalSgd>(context, model, options.diloco);
                            }};
const Declaration kDiloco{
    .id = DataStrategy::diloco,
    .word = "diloco",
    .dims = DataDims::replicate,
    .dims_hint = "scenario.hint.dims_local_steps",
    .keys = kDilocoKeys,
    .in_pipelines = true,
    .state_bytes =
        [](const StrategyOptions& options) { return options.diloco.outer_momentum != 0 ? 8.0 : 4.0; },
    .telling_steps = steps_to_tell,
    .short_cycle = short_cycle,
    .agrees_every =
        [](const StrategyOptions& options) {
            const DilocoOptions& o = options.diloco;
            return o.fragments == 1 && o.fragment_update_alpha == 0 ? o.sync_every : 0;
        },
    .state_word =
        [](const StrategyOptions& options, int64_t replicas) {
            const DilocoOptions& o = options.diloco;
            return std::to_string(replicas) + " replicas, every " + std::to_string(o.sync_every) +
                   ", fragments " + std::to_string(o.fragments) + ", delay " +
                   std::to_string(o.fragment_sync_delay) +
                   (o.outer_momentum != 0 ? ", with momentum" : ", without momentum");
        },
    .refusals = diloco_refusals,
    .make = [](const RankContext& context, nn::Model& model, const StrategyOptions& options)
        -> std::unique_ptr<Strategy> { return std::make_unique<Diloco>(context, model, options.diloco); }};

}  // namespace meshscope::parallel
