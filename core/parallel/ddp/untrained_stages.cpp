#include "core/parallel/ddp/untrained_stages.h"

#include <numeric>

#include "core/nn/model/frozen.h"
#include "core/parallel/pipeline/stage.h"

namespace meshscope::parallel {
namespace {

/// Whether the layers can be cut so; where they cannot, that is told by the pipeline.
bool fits(int64_t n_layers, int32_t stages, const std::vector<int64_t>& counts) {
    if (n_layers < stages) return false;
    return counts.empty() || (std::ssize(counts) == stages &&
                              std::accumulate(counts.begin(), counts.end(), int64_t{0}) == n_layers);
}

}  // namespace

void refuse_untrained_stages(const StrategyOptions& options, const StrategyUse& use,
                             std::vector<Refusal>& found) {
    const auto& shape = options.pipeline.shape;
    const bool lora = use.spec.lora_rank > 0;
    if (!shape || (use.spec.frozen.empty() && !lora)) return;
    const nn::Model* const model = use.model();
    const std::vector<int64_t>& counts = options.pipeline.stage_layers;
    const int32_t stages = shape->stages();
    if (model == nullptr || !use.sure("stage_layers") || !fits(model->n_layers(), stages, counts)) return;
    for (int32_t s = 0; s < stages; ++s) {
        const pipeline::LayerRange own = pipeline::layers_of_stage(model->n_layers(), stages, s, counts);
        bool any = (s == 0 && nn::any_trained(model->embed_parameters())) ||
                   (s == stages - 1 && nn::any_trained(model->head_parameters()));
        for (int64_t i = own.first; i < own.end && !any; ++i)
            any = nn::any_trained(model->layer_parameters(i));
        if (any) continue;
        Refusal refusal{.key = "frozen",
                        .message = {"scenario.stage_untrained", {{"stage", int64_t{s}}}},
                        .table = "train"};
        if (use.spec.frozen.empty()) {
            refusal.key = use.has("lora_targets", "model") ? "lora_targets" : "lora_rank";
            refusal.table = "model";
        }
        found.push_back(std::move(refusal));
        return;
    }
}

}  // namespace meshscope::parallel
