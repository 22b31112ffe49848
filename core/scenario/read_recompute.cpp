#include "core/scenario/readers.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/parallel/units.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {
namespace {

using parallel::pipeline::ScheduleKind;

/// The layer inside of which a module lies; "" where it is a layer itself or stands outside.
std::string layer_around(const nn::Model& model, const std::string& module) {
    for (int64_t i = 0; i < model.n_layers(); ++i)
        for (const nn::Module* layer : model.layer_modules(i))
            if (module.starts_with(layer->name() + ".")) return layer->name();
    return "";
}

/// In PyTorch the backward of a module at the layer's end begins, and gathers and prefetches, before the
/// layer runs again; here the layer runs again first. Units that are whole layers do not see the difference.
void refuse_inner_units(const Section& parallel, const Scenario& s) {
    const std::unique_ptr<nn::Model> model = nn::make_model(s.model);
    std::vector<std::vector<std::string>> units = s.parallel.units;
    const bool by_size = units.empty() && s.parallel.fsdp1.wrap_min_elements > 0;
    if (by_size) units = parallel::units_by_size(*model, s.parallel.fsdp1.wrap_min_elements);
    for (std::size_t i = 0; i < units.size(); ++i)
        for (const std::string& module : units[i]) {
            const std::string layer = layer_around(*model, module);
            if (layer.empty() || model->find(module) == nullptr) continue;  // no such module: reported
            const Message message{"scenario.recompute_units", {{"module", module}, {"layer", layer}}};
            const Message hint{"scenario.hint.recompute_units", {{"layer", layer}}};
            if (by_size) {  // the others would say the same
                parallel.report("wrap_min_elements", message, hint);
                return;
            }
            parallel.report_element("units", i, message, hint);
        }
}

bool splits_backward(ScheduleKind kind) {
    return kind == ScheduleKind::interleaved_zero_bubble || kind == ScheduleKind::zbv_zero_bubble ||
           kind == ScheduleKind::dual_pipe_v;
}

void refuse_split_backward(const Section& parallel, const Scenario& s) {
    if (!s.parallel.pipeline || !splits_backward(s.parallel.pipeline->kind)) return;
    Offer schedules{{}, 3};
    for (int k = 0; k < parallel::pipeline::kScheduleKinds; ++k) {
        const auto kind = static_cast<ScheduleKind>(k);
        if (!splits_backward(kind))
            schedules.candidates.push_back({{"parallel.schedule", std::string(name(kind))}});
    }
    parallel.report_offering(
        "schedule",
        {"scenario.recompute_split", {{"schedule", std::string(name(s.parallel.pipeline->kind))}}},
        {schedules});
}

}  // namespace

void read_recompute(const Section& train, const Section& parallel, Scenario& s) {
    const auto word = train.word("recompute", recompute_kinds());
    if (!word) return;
    s.recompute =
        static_cast<nn::Recompute>(std::ranges::find(recompute_kinds(), *word) - recompute_kinds().begin());
    if (s.recompute == nn::Recompute::none) return;
    if (model_is_known(s)) refuse_inner_units(parallel, s);
    refuse_split_backward(parallel, s);
}

}  // namespace meshscope::scenario
