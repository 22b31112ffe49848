#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/session/document.h"
#include "core/estimate/plan.h"
#include "core/scenario/plan_file.h"

namespace meshscope::session {

/// A layout as a point of a plan's chart.
struct PlannedLayout {
    const estimate::Layouted* estimate;  ///< of Planned::plan
    bool fits = true;
    bool front = false;  ///< no other layout beats it in both time and memory
};

/// What `meshscope plan` was asked, and its answers, planned again.
struct Planned {
    Planned() = default;
    Planned(const Planned&) = delete;  // `layouts` points into `plan`
    Planned& operator=(const Planned&) = delete;

    std::string name;   ///< "plan.json"; of a config.json its folder's, or the model's kind
    std::string title;  ///< of the model: "Qwen3-8B.json"; of a config.json as `name`
    std::string path;
    scenario::PlanFile file;
    estimate::Plan plan;
    /// Those that fit, the fastest first, then those that do not, by what they need; of layouts that differ
    /// in little one. At most kMostFitting and all of the front, and kMostTooLarge; never
    /// empty.
    std::vector<PlannedLayout> layouts;
};
inline constexpr int64_t kMostFitting = 160, kMostTooLarge = 60;

/// Reads what `meshscope plan --json` wrote and plans what it asks: its own answers may be fewer, or of
/// another version. Of a model's configuration (config.json) plans what scenario::usual_plan() asks. `busy`
/// is called now and then meanwhile. Throws what scenario::read_plan_file() or usual_plan(), and
/// estimate::plan(), throw.
std::shared_ptr<const Planned> load_plan(const std::string& path, const std::function<void()>& busy,
                                         const std::atomic<bool>* cancel);
/// Plans the same with something changed. Throws what scenario::changed() and estimate::plan() throw.
std::shared_ptr<const Planned> plan_changed(const Planned& before, const scenario::PlanChange& change,
                                            const std::function<void()>& busy,
                                            const std::atomic<bool>* cancel);

inline constexpr int32_t kRunWhole = 8;
/// The modelled run of a layout on the plan's own hardware: its scenario run without data (run::run_dry), two
/// steps, ready to show; of more than kRunWhole ranks those that stand for all.
/// Throws InvalidArgument where it is not written as a scenario (scenario::why_no_scenario()), InputError
/// where the engine does not run it.
std::shared_ptr<const Document> run_layout(
    const std::shared_ptr<const Planned>& planned, std::size_t layout,
    const std::function<void(int32_t ranks_done, int32_t ranks)>& progress, const std::atomic<bool>* cancel);

}  // namespace meshscope::session
