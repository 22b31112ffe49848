#include "core/scenario/read_pipeline.h"

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"
#include "core/scenario/read_model.h"

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
        parallel.report("schedule",
                        {"scenario.unknown_word", {{"key", parallel.full("schedule")}, {"word", *text}}},
                        hint_for(*text, parallel::pipeline::schedule_names()));
    return kind;
}

/// What a pipeline cannot be combined with. Data strategies: PyTorch's stages know modules of DDP and FSDP2
/// (pipelining/stage.py, backward_maybe_with_fsdp), and ZeRO-1 is an optimizer over either. An FSDP1 unit
/// gathers for one backward after each forward, and a stage runs several forwards first; ZeRO-2 would reduce
/// in every micro-batch's backward, which DeepSpeed refuses too (PipelineEngine).
void refuse_combinations(const Section& parallel, const Section& train, const Scenario& s) {
    using enum DataStrategy;
    const DataStrategy data = s.parallel.data;
    if (data != none && data != ddp && data != fsdp2 && data != zero1)
        parallel.report(
            "data",
            {"scenario.pipeline_strategy",
             {{"strategy", std::string(data_strategies()[static_cast<std::size_t>(data)])}}},
            {data == zero2 ? "scenario.hint.pipeline_zero2" : "scenario.hint.pipeline_fsdp2", {}});
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
        const int64_t ranks = layers / shape.stages_per_rank;
        Message hint{"scenario.hint.pipeline_one_stage", {{"layers", layers}}};
        if (ranks > 0)
            hint = {"scenario.hint.pipeline_ranks",
                    {{"ranks", ranks}, {"stages_per_rank", int64_t{shape.stages_per_rank}}}};
        parallel.report(
            "schedule",
            {"pipeline.too_few_layers", {{"layers", layers}, {"stages", int64_t{shape.stages()}}}}, hint);
    }
    if (s.model.tied && shape.stages() > 1)
        model.report("tied",
                     {"scenario.pipeline_tied",
                      {{"stages", int64_t{shape.stages()}}, {"last", int64_t{shape.stages() - 1}}}},
                     {"scenario.hint.pipeline_tied", {}});
}

}  // namespace

void read_pipeline(const Section& parallel, const Section& mesh, const Section& model, const Section& train,
                   Scenario& s) {
    const auto dim = mesh::roles_of(s.mesh_names).pp;
    const std::optional<ScheduleKind> kind = read_kind(parallel);
    const auto microbatches = parallel.integer("microbatches", {1, kMostMicrobatches});
    const auto stages_per_rank = parallel.integer("stages_per_rank", {1, kMostMicrobatches});
    if (!parallel.has("schedule")) {
        if (dim)
            mesh.report("names", {"scenario.pp_needs_schedule", {}},
                        hint_for("", parallel::pipeline::schedule_names()));
        for (const char* key : {"microbatches", "stages_per_rank"})
            if (parallel.has(key))
                parallel.report_key(key, {"scenario.key_needs_schedule", {{"key", parallel.full(key)}}});
        return;
    }
    if (!dim) parallel.report("schedule", {"scenario.schedule_needs_pp", {}});
    const bool complete = parallel.require("microbatches");
    refuse_combinations(parallel, train, s);
    if (!kind || !complete || !microbatches || !dim || *dim >= s.mesh_shape.size()) return;
    if (parallel.has("stages_per_rank") && !stages_per_rank) return;

    const ScheduleShape shape{
        *kind, static_cast<int32_t>(s.mesh_shape[*dim]),
        static_cast<int32_t>(stages_per_rank.value_or(parallel::pipeline::default_stages_per_rank(*kind))),
        static_cast<int32_t>(*microbatches)};
    if (auto reason = parallel::pipeline::why_impossible(shape)) {
        const bool stages = reason->id == "pipeline.stages_per_rank";
        parallel.report(stages ? "stages_per_rank" : "microbatches", std::move(*reason));
        return;
    }
    if (model_is_known(s)) check_stages(parallel, model, shape, s);
    s.parallel.pipeline = shape;
}

}  // namespace meshscope::scenario
