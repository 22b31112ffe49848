#include "app/gui/session/planned.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/gui/session/dropped.h"
#include "app/gui/session/lesson_document.h"
#include "core/base/error.h"
#include "core/estimate/layout_figures.h"
#include "core/run/dry.h"
#include "core/scenario/layout_scenario.h"
#include "core/scenario/model_config.h"

namespace meshscope::session {
namespace {

namespace fs = std::filesystem;
using estimate::Layouted;

constexpr int32_t kSteps = 2;

/// The layouts of the chart.
std::vector<PlannedLayout> charted(const estimate::Plan& plan) {
    std::vector<const Layouted*> fitting = estimate::first_layouts(plan.fitting, kMostFitting);
    const std::vector<const Layouted*> front = plan.pareto();
    for (const Layouted* each : front)
        if (std::ranges::find(fitting, each) == fitting.end()) fitting.push_back(each);
    std::ranges::sort(fitting);  // they lie in one list, the fastest first
    std::vector<PlannedLayout> layouts;
    for (const Layouted* each : fitting)
        layouts.push_back({each, true, std::ranges::find(front, each) != front.end()});
    for (const Layouted* each : estimate::first_layouts(plan.too_large, kMostTooLarge))
        layouts.push_back({each, false, false});
    return layouts;
}

/// What a model's configuration is called: all of them may be "config.json".
std::string config_name(const fs::path& path) {
    const std::string folder = path.parent_path().filename().string();
    if (path.filename() != "config.json") return path.filename().string();
    // Files dropped on a page lie in a hidden folder.
    if (!folder.empty() && !folder.starts_with('.')) return folder;
    return scenario::read_model_config(path.string()).model_type;
}

std::shared_ptr<const Planned> make_plan(const std::string& path, scenario::PlanFile file,
                                         const std::function<void()>& busy, const std::atomic<bool>* cancel) {
    auto planned = std::make_shared<Planned>();
    planned->path = path;
    const std::string model = file.model.substr(file.model.find_last_of("/:") + 1);
    planned->name = fs::path(path).filename().string();
    planned->title = model;
    if (is_model_config(path)) planned->name = planned->title = config_name(path);
    planned->file = std::move(file);
    int64_t told = 0;
    planned->plan = estimate::plan(planned->file.question, [&](int64_t tried) {
        if (busy && tried >= told + 256) {
            told = tried;
            busy();
        }
        return cancel == nullptr || !cancel->load();
    });
    planned->layouts = charted(planned->plan);
    return planned;
}

}  // namespace

std::shared_ptr<const Planned> load_plan(const std::string& path, const std::function<void()>& busy,
                                         const std::atomic<bool>* cancel) {
    std::error_code none;
    const std::string whole = fs::absolute(path, none).lexically_normal().string();
    scenario::PlanFile file = is_model_config(path)
                                  ? scenario::usual_plan(std::string(scenario::kConfigPrefix) + whole)
                                  : scenario::read_plan_file(path);
    return make_plan(whole, std::move(file), busy, cancel);
}

std::shared_ptr<const Planned> plan_changed(const Planned& before, const scenario::PlanChange& change,
                                            const std::function<void()>& busy,
                                            const std::atomic<bool>* cancel) {
    return make_plan(before.path, scenario::changed(before.file, change), busy, cancel);
}

std::shared_ptr<const Document> run_layout(const std::shared_ptr<const Planned>& planned, std::size_t layout,
                                           const std::function<void(int32_t, int32_t)>& progress,
                                           const std::atomic<bool>* cancel) {
    const estimate::Question& question = planned->file.question;
    const estimate::Job& job = planned->layouts.at(layout).estimate->job;
    if (const auto why = scenario::why_no_scenario(job)) throw InvalidArgument(*why);
    const std::string name = estimate::layout_word(job);
    const scenario::Scenario scenario = scenario::parse_scenario(
        scenario::layout_scenario(question, planned->file.spec, job, kSteps), name + ".toml");
    run::DryOptions options;
    options.all_up_to = kRunWhole;
    options.progress = progress;
    options.cancel = cancel;
    // A profile of the plan's own is in no scenario.
    const auto document = std::const_pointer_cast<Document>(
        make_document(run::run_dry(scenario, options).trace, name, nullptr, {}, &question.profile));
    document->plan = planned;
    document->layout = layout;
    return document;
}

}  // namespace meshscope::session
