#include "app/gui/view/pipeline_stages.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/error.h"
#include "core/scenario/scenario.h"

namespace meshscope::view {
namespace {

/// A model's layers are called "layers.N", a transformer's "blocks.N".
int32_t layer_of(std::string_view unit) {
    return std::max(number_behind("layers.", unit), number_behind("blocks.", unit));
}

/// How many layers each stage has, where the run's scenario says it.
std::vector<int64_t> told_layers(const trace::RunInfo& info) {
    if (info.scenario.find("stage_layers") == std::string::npos) return {};
    try {
        return scenario::parse_scenario(info.scenario, info.scenario_path).parallel.pipeline.stage_layers;
    } catch (const Error&) {
        return {};  // of another version: what it recorded is shown all the same
    }
}

}  // namespace

int32_t number_behind(std::string_view prefix, std::string_view unit) {
    if (!unit.starts_with(prefix)) return -1;
    int32_t number = -1;
    std::from_chars(unit.data() + prefix.size(), unit.data() + unit.size(), number);
    return number > kMostNumber ? -1 : number;
}

Stages::Stages(const trace::Trace& trace, const std::vector<int32_t>& ranks)
    : trace_(trace), lanes_(ranks.size()), stages_(static_cast<int32_t>(ranks.size())) {
    // A table of texts is shorter than the events that name them, and has those of other pipelines too, which
    // are cut alike.
    int32_t layers = 0;
    for (const std::string& text : trace.strings) {
        stages_ = std::max(stages_, number_behind("stage ", text) + 1);
        layers = std::max(layers, layer_of(text) + 1);
    }
    const std::vector<int64_t> told = told_layers(trace.info);
    const bool uneven = std::cmp_equal(told.size(), stages_);
    int64_t begin = 0;
    for (int32_t stage = 0; layers > 0 && stage < stages_; ++stage) {
        begins_.push_back(uneven ? begin : int64_t{stage} * layers / stages_);
        if (uneven) begin += told[static_cast<std::size_t>(stage)];
    }
}

int32_t Stages::of_lane(std::size_t lane) const {
    return std::cmp_equal(stages_, lanes_) ? static_cast<int32_t>(lane) : -1;
}

int32_t Stages::of(const trace::Event& event) const {
    const int32_t layer = layer_of(trace_.text(event.unit));
    if (layer < 0 || begins_.empty()) return -1;
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), int64_t{layer});
    return static_cast<int32_t>(after - begins_.begin()) - 1;
}

}  // namespace meshscope::view
