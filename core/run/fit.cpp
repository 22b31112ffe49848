#include "core/run/fit.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/fiber_stack.h"
#include "core/base/one_process.h"
#include "core/base/units.h"
#include "core/comm/choice.h"
#include "core/comm/parts.h"
#include "core/comm/schedule/card.h"
#include "core/comm/schedule/own/own_algorithm.h"
#include "core/memory/ledger.h"
#include "core/mesh/roles.h"
#include "core/nn/model.h"
#include "core/parallel/declaration.h"
#include "core/run/dry.h"
#include "core/run/summary.h"
#include "core/tensor/blas.h"

namespace meshscope::run {
namespace {

constexpr double kEventBytes = 128, kChangeBytes = 48;  // core/trace: an event, a change of memory
constexpr double kFloatBytes = 4;
/// What a rank has beside its tensors: a thread's stack as far as it is touched, groups, queues.
constexpr int64_t kRankBytes = int64_t{64} << 10;
/// A dry run of so many events takes about a second.
constexpr double kMostDryEvents = 200'000;
constexpr int32_t kDrySteps = 2;  // the optimizer's state is there in the second
constexpr int32_t kDryRanks = 4;

/// Beyond 2^62 it is too much whatever it is.
int64_t whole(double bytes) {
    return bytes >= 0x1p62 ? int64_t{1} << 62 : static_cast<int64_t>(std::max(0.0, bytes));
}

double elements(const nn::Shape& shape) {
    double n = 1;
    for (const int64_t extent : shape) n *= static_cast<double>(extent);
    return n;
}

/// Sizes of a training as numbers that cannot overflow.
struct Sizes {
    double parameters = 0, sample_bytes = 0, samples = 0;
    double batch = 0, rows = 0;  ///< the global one; a data-parallel rank's
    double pieces = 1;           ///< into how many micro-batches that is cut
    double world = 1, tp = 1, pp = 1, cp = 1;
};

Sizes sizes_of(const scenario::Scenario& s) {
    Sizes sizes;
    const std::unique_ptr<nn::Model> model = nn::make_model(s.model);
    for (const auto& parameter : model->all_parameters()) sizes.parameters += elements(parameter->shape);
    sizes.sample_bytes =
        elements(model->input_shape(1)) * static_cast<double>(bytes_per_element(model->input_dtype())) +
        elements(model->target_shape(1)) * static_cast<double>(bytes_per_element(model->target_dtype()));
    sizes.samples = static_cast<double>(s.data_samples);
    sizes.batch = static_cast<double>(s.global_batch);
    sizes.rows = sizes.batch / static_cast<double>(scenario::data_parallel_size(s));
    sizes.pieces = s.accumulate;
    if (const auto& shape = s.parallel.pipeline.shape) sizes.pieces *= shape->microbatches;
    sizes.world = scenario::world_size(s);
    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    const auto size = [&](mesh::Role role) {
        const auto dim = roles.of(role);
        return dim ? static_cast<double>(s.mesh_shape[*dim]) : 1.0;
    };
    sizes.tp = size(mesh::Role::tp), sizes.pp = size(mesh::Role::pp), sizes.cp = size(mesh::Role::cp);
    return sizes;
}

/// Of plain calls the largest one's buffers on all its ranks: what a rank puts in, at least.
double call_bytes(const scenario::Scenario& s, double ranks_here) {
    double most = 0;
    for (const scenario::Call& call : s.calls) {
        const double one =
            static_cast<double>(call.elements) * static_cast<double>(bytes_per_element(call.dtype)) +
            static_cast<double>(call.bytes);
        const double members = !call.ranks.empty()         ? static_cast<double>(call.ranks.size())
                               : !call.group_ranks.empty() ? static_cast<double>(call.group_ranks.size())
                               : call.kind == scenario::Call::Kind::message ? 1.0
                                                                            : ranks_here;
        const bool rooted = call.op == CollectiveOp::scatter;
        most = std::max(most, one * (rooted ? 1.0 : std::min(members, ranks_here)));
    }
    return most;
}

/// Members of the group that a call names.
int32_t members_of(const scenario::Scenario& s, const scenario::Call& call) {
    if (!call.group_ranks.empty()) return static_cast<int32_t>(call.group_ranks.size());
    for (std::size_t d = 0; d < s.mesh_names.size(); ++d)
        if (s.mesh_names[d] == call.mesh_dim) return static_cast<int32_t>(s.mesh_shape[d]);
    return scenario::world_size(s);
}

/// How many messages a member of a call receives, the mean over some that are spread over the group.
double hops_a_member(const scenario::Scenario& s, const scenario::Call& call, int32_t p, bool shares_memory) {
    constexpr int32_t kLooked = 8;
    const comm::OwnAlgorithm* const own = s.parallel.own.get();
    const bool gathers = call.op == CollectiveOp::all_gather || call.op == CollectiveOp::gather;
    const int64_t full = call.elements * (gathers ? p : 1);
    const Algorithm algorithm = own != nullptr && own->op() == call.op && own->fits(p)
                                    ? Algorithm::own
                                    : comm::choose_algorithm(call.op, s.parallel.algorithm, p,
                                                             {.bytes = full * bytes_per_element(call.dtype),
                                                              .shares_memory = shares_memory});
    std::vector<comm::Part> parts;
    comm::set_even_parts(parts, full / p, p);
    int64_t received = 0;
    const int32_t looked = std::min(p, kLooked);
    for (int32_t i = 0; i < looked; ++i)
        comm::say_steps(algorithm,
                        {.op = call.op,
                         .ranks = p,
                         .rank = static_cast<int32_t>(int64_t{i} * p / looked),
                         .root = call.root,
                         .elements = full,
                         .element_bytes = bytes_per_element(call.dtype),
                         .in_parts = parts,
                         .out_parts = parts,
                         .own = own},
                        [&](const comm::Step& step) {
                            using Kind = comm::Step::Kind;
                            if (step.kind == Kind::receive || step.kind == Kind::reduce) ++received;
                            if (step.kind == Kind::reduce_many) received += p - 1;
                        });
    return static_cast<double>(received) / looked;
}

/// What the hops of plain calls take in the record, of the ranks here.
double call_hops_bytes(const scenario::Scenario& s, const RunPlace& place, int32_t ranks_here) {
    if (s.parallel.algorithm == Algorithm::native) return 0;  // nobody tells those
    double hops = 0;
    for (const scenario::Call& call : s.calls) {
        const int32_t p = members_of(s, call);
        if (call.kind != scenario::Call::Kind::collective || p < 2) continue;
        std::size_t callers = call.ranks.empty() ? call.group_ranks.size() : call.ranks.size();
        if (callers == 0) callers = static_cast<std::size_t>(scenario::world_size(s));
        hops += hops_a_member(s, call, p, is_of_one_process(place.backend)) *
                std::min(static_cast<double>(callers), static_cast<double>(ranks_here));
    }
    return hops * sizeof(trace::Hop);
}

/// Operands of a compute event, roughly.
constexpr double kOperandsAnEvent = 2;

/// What the record of a rank's kernels' operands takes at the level `values`, of so many events.
double operand_bytes(const scenario::Scenario& s, trace::Level level, double events) {
    if (level < trace::Level::values) return 0;
    const double rows = events * kOperandsAnEvent,
                 most = static_cast<double>(trace::most_operand_numbers(scenario::world_size(s)));
    return rows * sizeof(trace::Snapshot) +
           std::min(rows * static_cast<double>(trace::kMaxRecordedValues), most) * kFloatBytes;
}

/// Events of a rank's step, roughly: what each layer and micro-batch does, and the collectives.
double events_a_step(const scenario::Scenario& s, const Sizes& sizes) {
    return 40 * (static_cast<double>(s.model.layers) + 4) * sizes.pieces;
}

bool records(trace::Level level) {
    return level != trace::Level::off;
}

/// The mean over those that were run dry: their peak, and what they recorded a step.
struct DryFigures {
    double peak = 0, recorded_a_step = 0, events_a_step = 0;
};

DryFigures run_dry_here(const scenario::Scenario& scenario, double events) {
    DryOptions options;
    options.steps = kDrySteps;
    options.all_up_to = 1;
    options.most_ranks = events * kDrySteps * kDryRanks > kMostDryEvents ? 1 : kDryRanks;
    const DryResult dry = run_dry(scenario, options);
    DryFigures figures;
    for (const int32_t rank : dry.ranks) {
        const trace::RankTrace& record = dry.trace->ranks[static_cast<std::size_t>(rank)];
        figures.peak += static_cast<double>(memory::peak(*dry.trace, rank).bytes);
        figures.events_a_step += static_cast<double>(record.events.size());
        figures.recorded_a_step += static_cast<double>(record.events.size()) * kEventBytes +
                                   static_cast<double>(record.memory.size()) * kChangeBytes;
    }
    const auto ranks = static_cast<double>(std::max<std::size_t>(dry.ranks.size(), 1));
    figures.peak /= ranks;
    figures.recorded_a_step /= ranks * std::min(kDrySteps, scenario.steps);
    figures.events_a_step /= ranks * std::min(kDrySteps, scenario.steps);
    return figures;
}

}  // namespace

int64_t least_bytes(const scenario::Scenario& s, int32_t ranks_here) {
    const auto here = static_cast<double>(ranks_here);
    if (!s.calls.empty()) return whole(call_bytes(s, here));
    const Sizes sizes = sizes_of(s);
    const double share = here / sizes.world;
    double bytes = zero_formula(s).total() * here;
    bytes += sizes.batch * sizes.sample_bytes * share;
    if (const auto activations = activation_formula(s)) bytes += *activations * here / sizes.pp;
    const bool one_process = parallel::declaration(s.parallel.data).one_process;
    if (s.model.vocab > 0 && !one_process)  // the last stage's logits
        bytes += sizes.rows / sizes.pieces / sizes.cp * static_cast<double>(s.model.seq) *
                 static_cast<double>(s.model.padded_vocab()) * kFloatBytes * here / sizes.pp /
                 (s.parallel.tensor.loss_parallel ? sizes.tp : 1);
    if (s.data_sampler) bytes += sizes.samples * 8;  // the order of an epoch
    return whole(bytes);
}

int64_t generous_bytes(const scenario::Scenario& s, const RunPlace& place) {
    const auto here = static_cast<double>(ranks_on_machine(s, place));
    const double recorded = records(place.level) ? 20 * (kEventBytes + 2 * kChangeBytes) : 0;
    if (!s.calls.empty()) {
        double bytes = 0;
        for (const scenario::Call& call : s.calls)
            bytes += (static_cast<double>(call.elements) * 8 * 4 + static_cast<double>(call.bytes)) * here +
                     recorded * here * here;
        return whole(bytes + here * static_cast<double>(kRankBytes) * 16);
    }
    const Sizes sizes = sizes_of(s);
    const double rows =
        std::max(sizes.rows, static_cast<double>(s.evaluation.every > 0 ? s.evaluation.batch : 0));
    const int64_t width = s.model.heads < 1 ? s.model.dim : std::max(s.model.dim, s.model.query_width());
    const auto dim = static_cast<double>(width), hidden = static_cast<double>(s.model.hidden);
    const auto seq = static_cast<double>(std::max<int64_t>(s.model.seq, 1));
    const double numbers = seq * ((static_cast<double>(s.model.layers) + 1) * (dim * 32 + hidden * 12) +
                                  static_cast<double>(s.model.padded_vocab()) * 12 +
                                  static_cast<double>(s.model.heads) * seq * 4 + 256);
    double bytes = here * (sizes.parameters * kFloatBytes * 16 +
                           rows * (numbers * kFloatBytes + sizes.sample_bytes * 8));
    bytes += here * static_cast<double>(kRankBytes) * 16 + sizes.samples * 16 * (s.data_sampler ? here : 1);
    // A collective has up to two hops a member.
    bytes += recorded * events_a_step(s, sizes) * s.steps * here * 2 *
             (place.level >= trace::Level::hops ? sizes.world : 1);
    bytes += operand_bytes(s, place.level, events_a_step(s, sizes) * s.steps) * here;
    return whole(bytes);
}

MemoryNeed predicted_need(const scenario::Scenario& s, const RunPlace& place) {
    const int32_t ranks = ranks_on_machine(s, place);
    const MemoryNeed least{least_bytes(s, ranks), true};
    if (!s.calls.empty()) {
        if (place.level < trace::Level::hops) return least;
        return {whole(static_cast<double>(least.bytes) + call_hops_bytes(s, place, ranks)), false};
    }
    const double events = events_a_step(s, sizes_of(s));
    if (events * kDrySteps > kMostDryEvents) return least;
    try {
        const DryFigures figures = run_dry_here(s, events);
        const double recorded = records(place.level) ? figures.recorded_a_step * s.steps : 0;
        const double operands = operand_bytes(s, place.level, figures.events_a_step * s.steps);
        const double all = (figures.peak + recorded + operands + static_cast<double>(kRankBytes)) * ranks;
        return {std::max(whole(all), least.bytes), false};
    } catch (const Error&) {  // what else is wrong with it the run says itself
        return least;
    }
}

int32_t ranks_on_machine(const scenario::Scenario& scenario, const RunPlace& place) {
    if (is_of_gpus(place.backend)) return 0;
    return is_of_one_process(place.backend) ? scenario::world_size(scenario) : place.ranks_here;
}

namespace {

[[noreturn]] void refuse(Message message, int32_t ranks, const MemoryNeed& need, int64_t free) {
    for (MessageArg& arg :
         std::vector<MessageArg>{{"ranks", int64_t{ranks}},
                                 {"need", (need.at_least ? "> " : "") + bytes_text(need.bytes)},
                                 {"free", bytes_text(free)},
                                 {"need_bytes", need.bytes},
                                 {"free_bytes", free}})
        message.args.push_back(std::move(arg));
    throw InvalidArgument(std::move(message));
}

/// What a process maps beside its tensors.
int64_t mapped_beside(const scenario::Scenario& s, const RunPlace& place, int32_t ranks) {
    const bool one_process = is_of_one_process(place.backend);
    const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
    // A rank's thread and its helper (comm/stream_executor.h); over tcp another that hears, and where the
    // process was started by this program one that tells.
    const int64_t stacks = (2 * ranks <= cores ? 2 : 1) * int64_t{ranks} + (one_process ? 0 : 2);
    int64_t bytes = place.backend == "fibers" ? int64_t{ranks} * (kFiberStackBytes + kFiberGuardBytes)
                                              : stacks * thread_stack_bytes();
    if (s.calls.empty()) bytes += tensor::matrix_product_library_bytes();
    return bytes + place.library_bytes;
}

}  // namespace

void require_fit(const scenario::Scenario& scenario, const RunPlace& place,
                 const std::optional<FreeMemory>& free) {
    const int32_t ranks = ranks_on_machine(scenario, place);
    if (ranks <= 0 || !free || generous_bytes(scenario, place) < free->bytes) return;
    MemoryNeed need{least_bytes(scenario, ranks), true};
    if (need.bytes <= free->bytes) need = predicted_need(scenario, place);
    if (need.bytes <= free->bytes) return;
    refuse({free->bound == MemoryBound::cgroup ? "run.does_not_fit_cgroup" : "run.does_not_fit", {}}, ranks,
           need, free->bytes);
}

void require_process_fit(const scenario::Scenario& scenario, const RunPlace& place,
                         const AddressSpace& left) {
    RunPlace process = place;
    if (!is_of_one_process(place.backend)) process.ranks_here = std::min(place.ranks_here, 1);
    const int32_t ranks = ranks_on_machine(scenario, process);
    if (ranks <= 0) return;
    const int64_t beside = mapped_beside(scenario, process, ranks), room = left.left_bytes - beside;
    if (generous_bytes(scenario, process) < room) return;
    MemoryNeed need{least_bytes(scenario, ranks), true};
    if (need.bytes <= room) need = predicted_need(scenario, process);
    if (need.bytes <= room) return;
    need.bytes += beside;
    refuse({"run.does_not_fit_process", {{"option", std::string(left.data ? "ulimit -d" : "ulimit -v")}}},
           ranks, need, left.left_bytes);
}

void require_fit(const scenario::Scenario& scenario, const RunPlace& place) {
    if (ranks_on_machine(scenario, place) <= 0) return;
    MemoryFacts facts = look_at_memory();
    facts.address_left_bytes.reset();  // each process has its own
    require_fit(scenario, place, free_memory(facts));
    if (const auto left = address_space_left()) require_process_fit(scenario, place, *left);
}

double generous_operations(const scenario::Scenario& s) {
    if (!s.calls.empty()) return 0;
    const Sizes sizes = sizes_of(s);
    const auto dim = static_cast<double>(s.model.dim), hidden = static_cast<double>(s.model.hidden);
    const auto seq = static_cast<double>(std::max<int64_t>(s.model.seq, 1));
    const auto layers = static_cast<double>(s.model.layers),
               vocab = static_cast<double>(s.model.padded_vocab());
    // The last stage has the head too, and stages may be uneven.
    const bool told = !s.parallel.pipeline.stage_layers.empty();
    const double stages = told ? 1.0 : std::max(sizes.pp / 2, 1.0), head = 2 * vocab * dim;
    const double numbers = layers * (dim + hidden) + vocab;
    const double a_token =
        (8 * sizes.parameters + 18 * layers * seq * dim + 64 * numbers) / stages + 8 * head + 64 * vocab;
    return sizes.rows * seq * a_token / (sizes.tp * sizes.cp);
}

}  // namespace meshscope::run
