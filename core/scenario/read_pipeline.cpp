#include "core/scenario/readers.h"

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"
#include "core/scenario/mesh_offers.h"

namespace meshscope::scenario {
namespace {

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
    if (!strategy.in_pipelines)
        parallel.report_offering(
            "data", {"scenario.pipeline_strategy", {{"strategy", std::string(strategy.word)}}},
            {{{{{"parallel.data", std::string("fsdp2")}}}}, {{{{"parallel.data", std::string("zero1")}}}}});
    if (train.has("accumulate") && s.accumulate > 1)
        train.report("accumulate", {"scenario.pipeline_accumulate", {{"accumulate", int64_t{s.accumulate}}}});
    if (s.parallel.fsdp2.set_is_last_backward)
        parallel.report("is_last_backward", {"scenario.pipeline_last_backward", {}});
}

/// Every stage needs a layer, and a tied parameter one stage.
void check_stages(const Section& parallel, const Section& model, const ScheduleShape& shape,
                  const Scenario& s) {
    const int64_t layers = nn::make_model(s.model)->n_layers();
    if (layers < shape.stages()) {
        std::vector<Offer> offers = offers_of_dim(s, *mesh::roles_of(s.mesh_names).pp, [&](int64_t n) {
            return n * shape.stages_per_rank <= layers;
        });
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
        Offer with_dim = offer_of_new_dim(s, "pp");
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
            offers = joined(
                offers_around(
                    "parallel.microbatches", *microbatches, 1, kMostMicrobatches,
                    [&](int64_t n) {
                        return fits({*kind, shape.ranks, shape.stages_per_rank, static_cast<int32_t>(n)});
                    }),
                offers_of_dim(s, *dim, [&](int64_t n) {
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
