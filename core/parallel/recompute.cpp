#include <array>
#include <string>

#include "core/parallel/model_declaration.h"
#include "core/parallel/units.h"

namespace meshscope::parallel {
namespace {

using pipeline::ScheduleKind;

constexpr std::array<std::string_view, 3> kRecomputes{"none", "selective", "full"};  ///< nn::Recompute's

constexpr StrategyKey kRecomputeKeys[] = {
    {"recompute", "\"none\"",
     StrategyKey::Word{
         kRecomputes,
         [](StrategyOptions& o, std::size_t place) { o.recompute = static_cast<nn::Recompute>(place); }}},
};

/// The layer inside of which a module lies; "" where it is a layer itself or stands outside.
std::string layer_around(const nn::Model& model, const std::string& module) {
    for (int64_t i = 0; i < model.n_layers(); ++i)
        for (const nn::Module* layer : model.layer_modules(i))
            if (module.starts_with(layer->name() + ".")) return layer->name();
    return "";
}

/// In PyTorch the backward of a module at the layer's end begins, and gathers and prefetches, before the
/// layer runs again; here the layer runs again first. Units that are whole layers do not see the difference.
void refuse_inner_units(nn::Model& model, const StrategyOptions& options, std::vector<Refusal>& found) {
    std::vector<std::vector<std::string>> units = options.units;
    const bool by_size = units.empty() && options.wrap_by_size;
    if (by_size) units = units_by_size(model, options.unit_min_elements());
    for (std::size_t i = 0; i < units.size(); ++i)
        for (const std::string& module : units[i]) {
            const std::string layer = layer_around(model, module);
            if (layer.empty() || model.find(module) == nullptr) continue;  // no such module: reported
            Refusal refusal{.key = by_size ? "wrap_min_elements" : "units",
                            .message = {"scenario.recompute_units", {{"module", module}, {"layer", layer}}},
                            .hint = {"scenario.hint.recompute_units", {{"layer", layer}}}};
            if (!by_size) refusal.element = i;
            found.push_back(std::move(refusal));
            if (by_size) return;  // the others would say the same
        }
}

bool splits_backward(ScheduleKind kind) {
    return kind == ScheduleKind::interleaved_zero_bubble || kind == ScheduleKind::zbv_zero_bubble ||
           kind == ScheduleKind::dual_pipe_v;
}

void refuse_split_backward(const StrategyOptions& options, std::vector<Refusal>& found) {
    const auto& shape = options.pipeline.shape;
    if (!shape || !splits_backward(shape->kind)) return;
    Offer schedules{{}, 3};
    for (int k = 0; k < pipeline::kScheduleKinds; ++k) {
        const auto kind = static_cast<ScheduleKind>(k);
        if (!splits_backward(kind))
            schedules.candidates.push_back({{"parallel.schedule", std::string(name(kind))}});
    }
    found.push_back({.key = "schedule",
                     .message = {"scenario.recompute_split", {{"schedule", std::string(name(shape->kind))}}},
                     .offers = {std::move(schedules)}});
}

std::vector<Refusal> settle_recompute(StrategyOptions& options, const StrategyUse& use) {
    std::vector<Refusal> found;
    if (options.recompute == nn::Recompute::none) return found;
    if (nn::Model* const model = use.model()) refuse_inner_units(*model, options, found);
    refuse_split_backward(options, found);
    return found;
}

}  // namespace

extern const ModelDeclaration kRecompute;
const ModelDeclaration kRecompute{
    .role = {}, .keys = kRecomputeKeys, .settle = settle_recompute, .table = "train"};

}  // namespace meshscope::parallel
