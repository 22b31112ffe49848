#include "core/run/summary.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/mesh/roles.h"
#include "core/nn/model.h"
#include "core/parallel/model_declaration.h"
#include "core/parallel/pipeline/own_order.h"
#include "core/time/step.h"
#include "core/trace/of_training.h"

namespace meshscope::run {
namespace {

using Key = std::tuple<std::string, std::string, int64_t>;  // op, mesh dim, size of the group

/// The calls of one rank in one step, in the order of their first issue.
std::vector<Summary::Collective> collectives_of(const trace::Trace& trace, std::size_t rank, int32_t step) {
    std::vector<Summary::Collective> rows;
    std::map<Key, std::size_t> places;
    for (const trace::Event& e : trace.ranks[rank].events) {
        if (e.kind != trace::EventKind::collective || e.step != step || !trace::is_of_training(e)) continue;
        const trace::Group& group = trace.groups[static_cast<std::size_t>(e.group)];
        const auto size = static_cast<int64_t>(group.ranks.size());
        const Key key{std::string(name(e.op)), group.mesh_dim, size};
        const auto [found, is_new] = places.try_emplace(key, rows.size());
        if (is_new) rows.push_back({std::get<0>(key), group.mesh_dim, size});
        Summary::Collective& row = rows[found->second];
        ++row.calls;
        row.in_elements += e.in_elements;
        row.out_elements += e.out_elements;
        row.sent_bytes += e.sent_bytes;
    }
    return rows;
}

void take_larger(std::vector<Summary::Collective>& all, const std::vector<Summary::Collective>& rows) {
    for (const Summary::Collective& row : rows) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const Summary::Collective& other) {
            return std::tie(other.op, other.mesh_dim, other.group_size) ==
                   std::tie(row.op, row.mesh_dim, row.group_size);
        });
        if (same == all.end()) {
            all.push_back(row);
            all.back().least_sent_bytes = row.sent_bytes;
            continue;
        }
        const int64_t least = std::min(same->least_sent_bytes, row.sent_bytes);
        if (row.sent_bytes > same->sent_bytes) *same = row;
        same->least_sent_bytes = least;
    }
}

}  // namespace

Summary summarize(const trace::Trace& trace, const time::Profile& profile, time::Absent absent) {
    Summary summary;
    summary.step = std::max(0, trace.info.steps - 1);
    summary.profile = profile.name;
    const time::Clock clock = time::modelled(trace, profile, absent);
    const time::Interval counted = time::counted_span(trace, clock, summary.step);
    summary.step_ns = counted.end_ns - counted.begin_ns;
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        if (trace.ranks[r].events.empty()) continue;
        Summary::Rank& rank = summary.ranks.emplace_back();
        rank.rank = static_cast<int32_t>(r);
        rank.peak = memory::peak(trace, rank.rank);
        for (const trace::Event& e : trace.ranks[r].events) {
            if (e.step != summary.step || !trace::is_of_training(e)) continue;
            rank.sent_bytes += e.sent_bytes;
            rank.flops += e.flops;
        }
        rank.overlap = time::overlap(trace, clock, rank.rank, summary.step);
        rank.bubble = time::bubble(trace, clock, rank.rank, summary.step, counted);
        take_larger(summary.collectives, collectives_of(trace, r, summary.step));
    }
    return summary;
}

memory::ModelState zero_formula(const scenario::Scenario& scenario) {
    if (!scenario.calls.empty()) return {};
    double parameters = 0, trained = 0;
    const std::unique_ptr<nn::Model> model = nn::make_model(scenario.model);
    for (const auto& parameter : model->all_parameters()) {
        const auto elements = static_cast<double>(tensor::count(parameter->shape));
        parameters += elements;
        if (!parameter->frozen) trained += elements;
    }
    const double trained_share = trained / parameters;
    const auto& optimizer = scenario.optimizer;
    const parallel::Declaration& strategy = parallel::declaration(scenario.parallel.data);
    const int32_t stage = strategy.zero_stage == nullptr ? 0 : strategy.zero_stage(scenario.parallel);
    const auto stored = static_cast<double>(bytes_per_element(scenario.parallel.precision.stored));
    const double states = stored * (optimizer.kind != "sgd"   ? 2
                                    : optimizer.momentum != 0 ? 1
                                                              : 0) +
                          (strategy.state_bytes == nullptr ? 0 : strategy.state_bytes(scenario.parallel));
    double ranks =
        1;  // HSDP shares out along its shard dim alone; other dims that cut the model divide it too
    // Without names no dim has a role.
    for (std::size_t d = 0; d < std::min(scenario.mesh_shape.size(), scenario.mesh_names.size()); ++d) {
        const std::optional<mesh::Role> role = mesh::role_of(scenario.mesh_names[d]);
        if (!role || role == mesh::Role::replicate) continue;
        const auto size = static_cast<double>(scenario.mesh_shape[d]);
        const parallel::ModelDeclaration* const way = parallel::model_declaration(*role);
        if (way != nullptr && way->cuts_parameters)
            parameters /= size;
        else  // ranks that share the model out but hold all parameters hold shards as data ranks do
            ranks *= size;
    }
    // Copies in another type of what is whole; the float32 values are then the optimizer's.
    const auto copy = static_cast<double>(bytes_per_element(scenario.parallel.precision.param));
    const bool copied = stage < 3 && copy != stored;
    const auto gradients = static_cast<double>(bytes_per_element(scenario.parallel.precision.reduce));
    return memory::zero_state(stage, parameters, ranks,
                              {copied ? copy : stored, trained_share * (stage == 1 ? gradients : stored),
                               trained_share * (states + (copied ? 4 : 0))});
}

std::optional<double> activation_formula(const scenario::Scenario& scenario) {
    using parallel::pipeline::ScheduleKind;
    if (!scenario.calls.empty()) return std::nullopt;
    if (!scenario.parallel.pipeline.stage_layers.empty()) return std::nullopt;  // it counts even stages
    const nn::ModelSpec& model = scenario.model;
    const bool llama = model.kind == "llama";
    if (!llama && model.kind != "gpt") return std::nullopt;
    if (llama && scenario.ops.ops != nn::Ops::fused) return std::nullopt;  // its norms and gates keep more
    // The formula is that of plain blocks.
    if (model.query_width() != model.dim || model.qk_norm != nn::QkNorm::none ||
        model.norm_place != nn::NormPlace::before ||
        (llama && model.used_activation() != nn::Activation::silu))
        return std::nullopt;
    double blocks = static_cast<double>(model.layers);
    auto samples = static_cast<double>(scenario.global_batch) /
                   static_cast<double>(scenario::data_parallel_size(scenario)) / scenario.accumulate;
    if (const auto& shape = scenario.parallel.pipeline.shape) {
        samples /= shape->microbatches;
        blocks /= shape->stages();
        const auto& order = scenario.parallel.pipeline.order;
        if (shape->stages_per_rank == 1 && !order.empty())
            blocks *= parallel::pipeline::most_in_flight(order);
        else if (shape->kind == ScheduleKind::gpipe)
            blocks *= shape->microbatches;
        else if (shape->kind == ScheduleKind::one_f_one_b)
            blocks *= std::min(shape->microbatches, shape->ranks);
        else
            return std::nullopt;
    }
    const mesh::Roles roles = mesh::roles_of(scenario.mesh_names);
    if (const auto cp = roles.of(mesh::Role::cp))
        samples /= static_cast<double>(scenario.mesh_shape[*cp]);  // a part of each
    const std::optional<std::size_t> tp = roles.of(mesh::Role::tp);
    const auto width = static_cast<double>(model.dim);
    const memory::BlockShape block{
        .tokens = samples * static_cast<double>(model.seq),
        .width = width,
        .kv_width =
            llama ? width / static_cast<double>(model.heads) * static_cast<double>(model.kv_heads) : width,
        .hidden = static_cast<double>(model.hidden),
        .gated = llama,
        .element_bytes = static_cast<double>(bytes_per_element(scenario.parallel.precision.param)),
        .tensor_ranks = tp ? static_cast<double>(scenario.mesh_shape[*tp]) : 1.0,
        .sequence_parallel = scenario.parallel.tensor.sequence_parallel};
    const auto kept = scenario.parallel.recompute == nn::Recompute::none        ? memory::BlockKept::all
                      : scenario.parallel.recompute == nn::Recompute::selective ? memory::BlockKept::products
                                                                                : memory::BlockKept::input;
    return blocks * memory::activation_bytes(kept, block);
}

}  // namespace meshscope::run
