#include "core/scenario/readers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/mesh/mesh_offers.h"
#include "core/mesh/roles.h"
#include "core/parallel/declaration.h"
#include "core/scenario/words.h"

namespace meshscope::scenario {
namespace {

/// Refuses a size of the model that the tp ranks cannot share evenly.
void check_divides(const Section& model, std::string_view key, int64_t size, const Scenario& s) {
    const std::size_t tp = *mesh::roles_of(s.mesh_names).tp;
    const int64_t ranks = s.mesh_shape[tp];
    if (size % ranks == 0) return;
    const bool heads = key == "heads";  // they must divide dim, too; most numbers need not be tried
    model.report_offering(
        key, {"scenario.tp_does_not_divide", {{"key", model.full(key)}, {"size", size}, {"ranks", ranks}}},
        joined_offers(offers_around(model.place(key), size, ranks, nn::kMostSize,
                                    [&](int64_t n) { return !heads || s.model.dim % n == 0; }),
                      mesh::offers_of_dim(s.mesh_shape, tp, [&](int64_t n) { return size % n == 0; })));
}

using parallel::pipeline::ScheduleKind;
using parallel::pipeline::ScheduleShape;

constexpr int64_t kMostMicrobatches = 1 << 16;

std::optional<ScheduleKind> read_kind(const Section& parallel) {
    const auto text = parallel.text("schedule");
    if (!text) return std::nullopt;
    const auto kind = parallel::pipeline::parse_schedule_kind(*text);
    if (!kind)
        parallel.refuse("schedule",
                        {"scenario.unknown_word", {{"key", parallel.full("schedule")}, {"word", *text}}},
                        hint_for(*text, parallel::pipeline::schedule_names()));
    return kind;
}

/// What a pipeline cannot be combined with. Data strategies: PyTorch's stages know modules of DDP and FSDP2
/// (pipelining/stage.py, backward_maybe_with_fsdp), and ZeRO-1 is an optimizer over either. An FSDP1 unit
/// gathers for one backward after each forward, and a stage runs several forwards first; ZeRO-2 would reduce
/// in every micro-batch's backward, which DeepSpeed refuses too (PipelineEngine).
void refuse_combinations(const Section& parallel, const Section& train, const Scenario& s) {
    const parallel::Declaration& strategy = parallel::declaration(s.parallel.data);
    if (!strategy.in_pipelines) {
        std::vector<Offer> offers;  // of those that shard, as most of the others do
        for (const parallel::Declaration* const other : parallel::strategies())
            if (other->in_pipelines && other->zero_stage != nullptr)
                offers.push_back({{{{"parallel.data", std::string(other->word)}}}});
        parallel.report_offering(
            "data", {"scenario.pipeline_strategy", {{"strategy", std::string(strategy.word)}}}, offers);
    }
    if (train.has("accumulate") && s.accumulate > 1)
        train.report("accumulate", {"scenario.pipeline_accumulate", {{"accumulate", int64_t{s.accumulate}}}});
}

/// Every stage needs a layer, and a tied parameter one stage.
void check_stages(const Section& parallel, const Section& model, const ScheduleShape& shape,
                  const Scenario& s) {
    const int64_t layers = nn::make_model(s.model)->n_layers();
    if (layers < shape.stages()) {
        std::vector<Offer> offers =
            mesh::offers_of_dim(s.mesh_shape, *mesh::roles_of(s.mesh_names).pp,
                                [&](int64_t n) { return n * shape.stages_per_rank <= layers; });
        if (model.has("layers")) offers.push_back({{{{"model.layers", int64_t{shape.stages()}}}}});
        if (shape.stages_per_rank > 1) {
            Candidate single{{"parallel.schedule", std::string("1F1B")}};
            if (parallel.has("stages_per_rank")) single.push_back({"parallel.stages_per_rank", {}});
            offers.push_back({{single}});
        }
        parallel.report_offering(
            "schedule",
            {"pipeline.too_few_layers", {{"layers", layers}, {"stages", int64_t{shape.stages()}}}},
            std::move(offers));
    }
    if (s.model.tied && shape.stages() > 1)
        model.report_offering("tied",
                              {"scenario.pipeline_tied",
                               {{"stages", int64_t{shape.stages()}}, {"last", int64_t{shape.stages() - 1}}}},
                              {{{{{"model.tied", false}}}}});
}

}  // namespace

void read_tensor_parallel(const Section& parallel, const Section& model, Scenario& s) {
    Scenario::Parallel& p = s.parallel;
    if (const auto plan = parallel.word("tp_plan", tp_plans())) p.tensor.linear_plan = *plan == "linear";
    p.tensor.sequence_parallel = parallel.boolean("sequence_parallel").value_or(false);
    p.tensor.loss_parallel = parallel.boolean("loss_parallel").value_or(false);

    const mesh::Roles roles = mesh::roles_of(s.mesh_names);
    if (!roles.tp || *roles.tp >= s.mesh_shape.size()) {
        for (const char* key : {"tp_plan", "sequence_parallel", "loss_parallel"})
            if (parallel.has(key))
                parallel.report_key(
                    key,
                    {"scenario.key_needs_dim", {{"key", parallel.full(key)}, {"dim", std::string("tp")}}}, {},
                    {mesh::offer_of_new_dim(s.mesh_shape, s.mesh_names, "tp")});
        return;
    }
    if (s.model.kind.empty()) return;  // what it is to be was not understood
    const bool tokens = s.model.kind == "gpt" || s.model.kind == "llama";
    for (const char* key : {"sequence_parallel", "loss_parallel"})
        if ((std::string_view(key) == "loss_parallel" ? p.tensor.loss_parallel
                                                      : p.tensor.sequence_parallel) &&
            !tokens)
            parallel.report_key(
                key, {"scenario.key_needs_tokens", {{"key", parallel.full(key)}, {"kind", s.model.kind}}});
    if (p.tensor.sequence_parallel && p.tensor.linear_plan)
        parallel.report_key("tp_plan", {"scenario.keys_exclude",
                                        {{"key", parallel.full("tp_plan") + " = \"linear\""},
                                         {"other", parallel.full("sequence_parallel")}}});
    if (!tokens || s.model.heads < 1) return;

    const int64_t kv_heads = s.model.kv_heads > 0 ? s.model.kv_heads : s.model.heads;
    if (model.sure("heads")) check_divides(model, "heads", s.model.heads, s);
    if (kv_heads != s.model.heads && model.sure("kv_heads")) check_divides(model, "kv_heads", kv_heads, s);
}

void read_pipeline(const Section& parallel, const Section& mesh, const Section& model, const Section& train,
                   Scenario& s) {
    const auto dim = mesh::roles_of(s.mesh_names).pp;
    const std::optional<ScheduleKind> kind = read_kind(parallel);
    const auto microbatches = parallel.integer("microbatches", {1, kMostMicrobatches});
    const auto stages_per_rank = parallel.integer("stages_per_rank", {1, kMostMicrobatches});
    if (!parallel.has("schedule")) {
        if (!parallel.sure("schedule")) return;
        if (dim) {
            Offer schedules{{}, 3};
            for (const std::string_view name : parallel::pipeline::schedule_names()) {
                Candidate candidate{{"parallel.schedule", std::string(name)}};
                if (!parallel.has("microbatches") && *dim < s.mesh_shape.size())
                    candidate.push_back({"parallel.microbatches", s.mesh_shape[*dim]});
                schedules.candidates.push_back(std::move(candidate));
            }
            mesh.report_offering("names", {"scenario.pp_needs_schedule", {}}, {schedules});
            return;  // what a schedule's keys are for is known once there is one
        }
        for (const char* key : {"microbatches", "stages_per_rank"})
            if (parallel.has(key))
                parallel.report_key(key, {"scenario.key_needs_schedule", {{"key", parallel.full(key)}}});
        return;
    }
    if (!dim) {
        Offer with_dim = mesh::offer_of_new_dim(s.mesh_shape, s.mesh_names, "pp");
        if (!parallel.has("microbatches"))
            for (Candidate& candidate : with_dim.candidates)
                candidate.push_back({"parallel.microbatches", int64_t{2}});
        parallel.report_offering("schedule", {"scenario.schedule_needs_pp", {}}, {std::move(with_dim)});
    }
    const bool complete = !dim || parallel.require("microbatches");
    refuse_combinations(parallel, train, s);
    if (!kind || !complete || !microbatches || !dim || *dim >= s.mesh_shape.size()) return;
    if (!parallel.sure("stages_per_rank")) return;

    const ScheduleShape shape{
        *kind, static_cast<int32_t>(s.mesh_shape[*dim]),
        static_cast<int32_t>(stages_per_rank.value_or(parallel::pipeline::default_stages_per_rank(*kind))),
        static_cast<int32_t>(*microbatches)};
    if (auto reason = parallel::pipeline::why_impossible(shape)) {
        const bool stages = reason->id == "pipeline.stages_per_rank";
        std::vector<Offer> offers;
        if (stages) {
            offers.push_back({{{{"parallel.stages_per_rank", int64_t{default_stages_per_rank(*kind)}}}}});
        } else {
            const auto fits = [&](ScheduleShape other) {
                return !parallel::pipeline::why_impossible(other).has_value();
            };
            offers = joined_offers(
                offers_around(
                    "parallel.microbatches", *microbatches, 1, kMostMicrobatches,
                    [&](int64_t n) {
                        return fits({*kind, shape.ranks, shape.stages_per_rank, static_cast<int32_t>(n)});
                    }),
                mesh::offers_of_dim(s.mesh_shape, *dim, [&](int64_t n) {
                    return fits({*kind, static_cast<int32_t>(n), shape.stages_per_rank, shape.microbatches});
                }));
            // What schedules alone would offer may not fit the batch.
            if (reason->id == "pipeline.microbatches_rounds") reason->id = "scenario.microbatches_rounds";
        }
        parallel.report_offering(stages ? "stages_per_rank" : "microbatches", std::move(*reason),
                                 std::move(offers));
        return;
    }
    if (model_is_known(s)) check_stages(parallel, model, shape, s);
    s.parallel.pipeline = shape;
}

}  // namespace meshscope::scenario
