#include <numeric>
#include <string>

#include "core/base/error.h"
#include "core/mesh/mesh_offers.h"
#include "core/parallel/model_declaration.h"
#include "core/parallel/pipeline/own_order.h"
#include "core/parallel/pipeline/read_schedule.h"

namespace meshscope::parallel {
namespace {

using pipeline::kScheduleNames;
using pipeline::PipelineOptions;
using pipeline::ScheduleKind;
using pipeline::ScheduleShape;

constexpr int64_t kMostMicrobatches = 1 << 16;

/// How many layers each stage has; whether they fit the model is checked with the stages (refuse_counts).
bool read_stage_layers(const KeyValue& value, StrategyOptions& options, const StrategyUse&,
                       std::vector<Refusal>& found) {
    const auto* const list = value.as<std::vector<KeyValue>>();
    if (list == nullptr) return false;
    std::vector<int64_t> counts;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto* const count = (*list)[i].as<int64_t>();
        if (count == nullptr) return false;
        if (*count < 1 || *count > nn::kMostSize)
            found.push_back(
                {.key = "stage_layers",
                 .message = {"scenario.stage_layers_range", {{"found", *count}, {"most", nn::kMostSize}}},
                 .element = i});
        counts.push_back(*count);
    }
    if (list->empty())
        found.push_back({.key = "stage_layers", .message = {"scenario.stage_layers_none", {}}});
    if (found.empty()) options.pipeline.stage_layers = std::move(counts);
    return true;
}

/// Rows as text; whether they are the schedule's actions is known with its shape.
bool read_order(const KeyValue& value, StrategyOptions& options, const StrategyUse&,
                std::vector<Refusal>& found) {
    const auto* const rows = value.as<std::vector<KeyValue>>();
    if (rows == nullptr) return false;
    if (rows->empty()) found.push_back({.key = "schedule_order", .message = {"scenario.order_none", {}}});
    pipeline::Order order;
    for (std::size_t i = 0; i < rows->size(); ++i) {
        const auto* const text = (*rows)[i].as<std::string>();
        if (text == nullptr) return false;
        try {
            order.push_back(pipeline::parse_row(*text));
        } catch (const InvalidArgument& bad) {
            found.push_back({.key = "schedule_order", .message = bad.message(), .element = i});
        }
    }
    if (found.empty()) options.pipeline.order = std::move(order);
    return true;
}

constexpr StrategyKey kPipelineKeys[] = {
    {"schedule", "(none)",
     StrategyKey::Word{kScheduleNames,
                       [](StrategyOptions& o, std::size_t place) {
                           o.pipeline.schedule = static_cast<ScheduleKind>(place);
                       },
                       true}},
    {"microbatches", "required with schedule",
     StrategyKey::Integer{
         1, kMostMicrobatches,
         [](StrategyOptions& o, int64_t n) { o.pipeline.microbatches = static_cast<int32_t>(n); }}},
    {"stages_per_rank", "1 for GPipe and 1F1B, else 2",
     StrategyKey::Integer{
         1, kMostMicrobatches,
         [](StrategyOptions& o, int64_t n) { o.pipeline.stages_per_rank = static_cast<int32_t>(n); }}},
    {"stage_layers", "as even as can be", StrategyKey::Several{"array of integers", read_stage_layers}},
    {"schedule_order", "the schedule's own", StrategyKey::Several{"array of strings", read_order}},
};

/// Without a schedule: the mesh must have no pp dim, and the keys that go with one must not be there.
std::vector<Refusal> without_schedule(const StrategyUse& use) {
    if (!use.sure("schedule")) return {};
    if (const auto dim = use.dim(mesh::Role::pp)) {
        Offer schedules{{}, 3};
        for (const std::string_view name : kScheduleNames) {
            Candidate candidate{{"parallel.schedule", std::string(name)}};
            if (!use.has("microbatches")) candidate.push_back({"parallel.microbatches", use.shape[*dim]});
            schedules.candidates.push_back(std::move(candidate));
        }
        return {{.key = "names",
                 .message = {"scenario.pp_needs_schedule", {}},
                 .offers = {std::move(schedules)},
                 .table = "mesh"}};  // what a schedule's keys are for is known once there is one
    }
    std::vector<Refusal> found;
    for (const char* key : {"microbatches", "stages_per_rank", "stage_layers", "schedule_order"})
        if (use.has(key))
            found.push_back(
                {.key = key,
                 .message = {"scenario.key_needs_schedule", {{"key", std::string("parallel.") + key}}},
                 .of = Refusal::Of::key});
    return found;
}

Refusal needs_dim(const StrategyUse& use) {
    Offer with_dim = mesh::offer_of_new_dim(use.shape, use.names, "pp");
    if (!use.has("microbatches"))
        for (Candidate& candidate : with_dim.candidates)
            candidate.push_back({"parallel.microbatches", int64_t{2}});
    return {
        .key = "schedule", .message = {"scenario.schedule_needs_pp", {}}, .offers = {std::move(with_dim)}};
}

/// What a pipeline cannot be combined with. Data strategies: PyTorch's stages know modules of DDP and FSDP2
/// (pipelining/stage.py, backward_maybe_with_fsdp), and ZeRO-1 is an optimizer over either. An FSDP1 unit
/// gathers for one backward after each forward, and a stage runs several forwards first; ZeRO-2 would reduce
/// in every micro-batch's backward, which DeepSpeed refuses too (PipelineEngine).
void refuse_combinations(const StrategyUse& use, std::vector<Refusal>& found) {
    if (!use.strategy->in_pipelines) {
        std::vector<Offer> offers;  // of those that shard, as most of the others do
        for (const Declaration* const other : strategies())
            if (other->in_pipelines && other->zero_stage != nullptr)
                offers.push_back({{{{"parallel.data", std::string(other->word)}}}});
        found.push_back(
            {.key = "data",
             .message = {"scenario.pipeline_strategy", {{"strategy", std::string(use.strategy->word)}}},
             .offers = std::move(offers)});
    }
    const KeyValue accumulate = use.value("accumulate", "train");
    const auto* const times = accumulate.as<int64_t>();
    if (times != nullptr && *times > 1 && use.sure("accumulate", "train"))
        found.push_back({.key = "accumulate",
                         .message = {"scenario.pipeline_accumulate", {{"accumulate", *times}}},
                         .table = "train"});
}

/// The shape that cannot be, with the nearest values that can.
Refusal impossible(const ScheduleShape& shape, Message reason, const StrategyUse& use) {
    if (reason.id == "pipeline.stages_per_rank") {
        const int64_t right = pipeline::default_stages_per_rank(shape.kind);
        return {.key = "stages_per_rank",
                .message = std::move(reason),
                .offers = {{{{{"parallel.stages_per_rank", right}}}}}};
    }
    const auto fits = [&](ScheduleShape other) { return !pipeline::why_impossible(other).has_value(); };
    std::vector<Offer> offers = joined_offers(
        offers_around(
            "parallel.microbatches", shape.microbatches, 1, kMostMicrobatches,
            [&](int64_t n) {
                return fits({shape.kind, shape.ranks, shape.stages_per_rank, static_cast<int32_t>(n)});
            }),
        mesh::offers_of_dim(use.shape, *use.dim(mesh::Role::pp), [&](int64_t n) {
            return fits({shape.kind, static_cast<int32_t>(n), shape.stages_per_rank, shape.microbatches});
        }));
    // What schedules alone would offer may not fit the batch.
    if (reason.id == "pipeline.microbatches_rounds") reason.id = "scenario.microbatches_rounds";
    return {.key = "microbatches", .message = std::move(reason), .offers = std::move(offers)};
}

/// One number a stage, which together are the model's layers.
void refuse_counts(const ScheduleShape& shape, int64_t layers, const std::vector<int64_t>& counts,
                   std::vector<Refusal>& found) {
    const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    if (counts.empty() || (std::ssize(counts) == shape.stages() && sum == layers)) return;
    found.push_back({.key = "stage_layers",
                     .message = {"scenario.stage_layers",
                                 {{"found", static_cast<int64_t>(counts.size())},
                                  {"stages", int64_t{shape.stages()}},
                                  {"sum", sum},
                                  {"layers", layers}}}});
}

/// Every fault of an order of one's own, at its rank's row.
void refuse_order(const ScheduleShape& shape, const pipeline::Order& order, std::vector<Refusal>& found) {
    if (order.empty()) return;
    std::vector<pipeline::Fault> faults = pipeline::faults_of_order(shape, order);
    if (faults.size() > pipeline::kMostMistakes) faults.resize(pipeline::kMostMistakes);
    for (pipeline::Fault& fault : faults) {
        const bool of_row = fault.message.id != "pipeline.order_rows";
        found.push_back(
            {.key = "schedule_order",
             .message = std::move(fault.message),
             .hint = std::move(fault.hint),
             .element = of_row ? std::optional(static_cast<std::size_t>(fault.rank)) : std::nullopt});
    }
}

/// The two copies of a tied parameter are cut alike, and get the same gradients, under some strategies only.
void refuse_tied(const StrategyOptions& options, const StrategyUse& use, std::vector<Refusal>& found) {
    if (!use.spec.tied || use.strategy == nullptr || !use.strategy->in_pipelines ||
        use.strategy->is(&Declaration::shares_between_stages, options))
        return;
    found.push_back({.key = "tied",
                     .message = {"scenario.pipeline_tied", {{"strategy", std::string(use.strategy->word)}}},
                     .offers = {{{{{"model.tied", false}}}}},
                     .table = "model"});
}

/// Every stage needs a layer.
void refuse_stages(const ScheduleShape& shape, int64_t layers, const StrategyUse& use,
                   std::vector<Refusal>& found) {
    const int64_t stages = shape.stages();
    if (layers < stages) {
        std::vector<Offer> offers = mesh::offers_of_dim(use.shape, *use.dim(mesh::Role::pp), [&](int64_t n) {
            return n * shape.stages_per_rank <= layers;
        });
        if (use.has("layers", "model")) offers.push_back({{{{"model.layers", stages}}}});
        if (shape.stages_per_rank > 1) {
            Candidate single{{"parallel.schedule", std::string("1F1B")}};
            if (use.has("stages_per_rank")) single.push_back({"parallel.stages_per_rank", {}});
            offers.push_back({{single}});
        }
        found.push_back({.key = "schedule",
                         .message = {"pipeline.too_few_layers", {{"layers", layers}, {"stages", stages}}},
                         .offers = std::move(offers)});
    }
}

std::vector<Refusal> settle_pipeline(StrategyOptions& options, const StrategyUse& use) {
    if (!use.has("schedule")) return without_schedule(use);
    PipelineOptions& o = options.pipeline;
    const auto dim = use.dim(mesh::Role::pp);
    std::vector<Refusal> found;
    if (!dim)
        found.push_back(needs_dim(use));
    else if (!use.has("microbatches"))
        found.push_back({.key = "microbatches", .message = {}, .of = Refusal::Of::absence});
    refuse_combinations(use, found);
    if (!o.schedule || !o.microbatches || !dim || !use.sure("stages_per_rank")) return found;

    const ScheduleShape shape{*o.schedule, static_cast<int32_t>(use.shape[*dim]),
                              o.stages_per_rank.value_or(pipeline::default_stages_per_rank(*o.schedule)),
                              *o.microbatches};
    if (auto reason = pipeline::why_impossible(shape)) {
        found.push_back(impossible(shape, std::move(*reason), use));
        return found;
    }
    if (const nn::Model* const model = use.model()) {
        refuse_stages(shape, model->n_layers(), use, found);
        refuse_counts(shape, model->n_layers(), o.stage_layers, found);
    }
    if (shape.stages() > 1) refuse_tied(options, use, found);
    refuse_order(shape, o.order, found);
    o.shape = shape;
    return found;
}

}  // namespace

extern const ModelDeclaration kPipelineParallel;
const ModelDeclaration kPipelineParallel{
    .role = mesh::Role::pp,
    .keys = kPipelineKeys,
    .settle = settle_pipeline,
    .cuts_parameters = true,
    .asks_strategy = true,
    .state_word = [](const StrategyOptions& options) -> std::string {
        const auto& shape = options.pipeline.shape;
        return shape ? ", " + std::to_string(shape->stages()) + " stages" : "";
    },
    .no_evaluation = [](const StrategyOptions& options, const mesh::Names&) -> std::string_view {
        return options.pipeline.shape ? "scenario.eval_pipeline" : "";
    }};

}  // namespace meshscope::parallel
