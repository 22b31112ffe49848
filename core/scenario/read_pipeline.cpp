#include "core/scenario/read_pipeline.h"

#include "core/mesh/roles.h"

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

/// What a pipeline cannot be combined with.
void refuse_combinations(const Section& parallel, const Section& train, const Scenario& s) {
    if (s.parallel.data != DataStrategy::none && s.parallel.data != DataStrategy::ddp &&
        s.parallel.data != DataStrategy::fsdp2)
        parallel.report("data", {"scenario.pipeline_strategy", {}});
    if (mesh::roles_of(s.mesh_names).tp) parallel.report("schedule", {"scenario.pipeline_tensor", {}});
    if (train.has("accumulate") && s.accumulate > 1)
        train.report("accumulate", {"scenario.pipeline_accumulate", {{"accumulate", int64_t{s.accumulate}}}});
    if (s.parallel.fsdp2.set_is_last_backward)
        parallel.report("is_last_backward", {"scenario.pipeline_last_backward", {}});
}

}  // namespace

void read_pipeline(const Section& parallel, const Section& train, bool model_known, Scenario& s) {
    const auto dim = mesh::roles_of(s.mesh_names).pp;
    const std::optional<ScheduleKind> kind = read_kind(parallel);
    const auto microbatches = parallel.integer("microbatches", {1, kMostMicrobatches});
    const auto stages_per_rank = parallel.integer("stages_per_rank", {1, kMostMicrobatches});
    if (!parallel.has("schedule")) {
        if (dim) parallel.require("schedule");
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
    const int64_t layers = model_known ? nn::make_model(s.model)->n_layers() : shape.stages();
    if (layers < shape.stages())
        parallel.report("schedule", {"pipeline.too_few_layers",
                                     {{"layers", layers}, {"stages", int64_t{shape.stages()}}}});
    s.parallel.pipeline = shape;
}

}  // namespace meshscope::scenario
