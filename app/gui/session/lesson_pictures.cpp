#include "app/gui/session/lesson_pictures.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <utility>

#include "app/gui/session/lesson_document.h"
#include "app/gui/session/lessons.h"
#include "backends/registry.h"
#include "core/run/run.h"
#include "core/scenario/scenario.h"

namespace meshscope::session {
namespace {

/// How much a step's view counts when it is chosen what a lesson's picture shows: matrices and attention say
/// most, a comparison and code nothing in so small a picture.
float weight(const LessonStep& step) {
    switch (step.view) {
        case view::ViewKind::tensors:
            return 5;
        case view::ViewKind::timeline:
            return step.form == view::Form::grid || step.form == view::Form::timed_grid ? 2.5F : 1.F;
        case view::ViewKind::memory:
            return 1.2F;
        case view::ViewKind::collective:
        case view::ViewKind::mesh:
            return 1.1F;
        case view::ViewKind::traffic:
            return 1;
        default:
            return 0;
    }
}

/// The lesson's view: the one that its steps show most, and of it the first step that shows its own run.
int32_t telling_step(const std::vector<LessonStep>& steps,
                     const std::vector<scenario::Scenario::LessonStep>& from) {
    std::map<view::ViewKind, float> votes;
    std::map<view::ViewKind, int32_t> first;
    const std::size_t own = std::min(steps.size(), from.size());
    for (std::size_t i = 0; i < own; ++i) {
        votes[steps[i].view] += weight(steps[i]);
        const bool others = !from[i].run.empty() || !from[i].beside.empty();
        if (!others && (steps[i].at || steps[i].view == view::ViewKind::mesh))
            first.try_emplace(steps[i].view, static_cast<int32_t>(i));
    }
    int32_t chosen = 0;
    float most = 0;
    for (const auto& [kind, step] : first)
        if (votes[kind] > most) {
            most = votes[kind];
            chosen = step;
        }
    return chosen;
}

}  // namespace

std::shared_ptr<const LessonPicture> lesson_picture(const std::string& scenario_path,
                                                    const std::function<void(int32_t, int32_t)>& progress,
                                                    const std::atomic<bool>* cancel) {
    const scenario::Scenario scenario = scenario::read_scenario(scenario_path);
    run::RunOptions options;
    options.backend = backends::window_backend();
    options.level = trace::Level::values;
    options.cancel = cancel;
    if (progress) options.progress = [&](int32_t done, int32_t steps, double) { progress(done, steps); };
    const run::RunResult result = run::run_up_to_failure(scenario, *backends::make_registry(), options);
    const std::string name = folder_of(scenario_path);
    const auto document = std::const_pointer_cast<Document>(make_document(result.trace, name, &scenario));
    document->quizzes.clear();
    auto picture = std::make_shared<LessonPicture>();
    picture->step = telling_step(document->steps, scenario.steps_of_lesson);
    picture->run = document;
    return picture;
}

void LessonPictures::want(const std::vector<std::string>& ids) {
    wanted_.assign(ids.begin(), ids.end());
    if (maker_ && !maker_->is_cancelled()) std::erase(wanted_, under_way_);
}

void LessonPictures::pause() {
    if (!maker_ || maker_->is_cancelled()) return;
    maker_->cancel();
    wanted_.push_front(under_way_);
}

std::vector<Action> LessonPictures::news(bool busy) {
    std::vector<Action> actions;
    if (maker_) {
        maker_->give_time();
        if (!maker_->is_done()) return actions;
        const bool cancelled = maker_->is_cancelled();
        std::shared_ptr<const LessonPicture> made;
        try {
            static_cast<void>(maker_->made());
            made = made_;
        } catch (const std::exception&) {
            // What is wrong with the lesson is told when it is opened.
        }
        maker_.reset();
        if (!cancelled || made) actions.push_back(ShowLessonPicture{under_way_, made});
        under_way_.clear();
        made_.reset();
    }
    if (busy || wanted_.empty()) return actions;
    under_way_ = std::move(wanted_.front());
    wanted_.pop_front();
    using Maker = DocumentMaker<Loading>;
    maker_ = std::make_unique<Maker>(
        Loading{},
        [this, path = under_way_](const Maker::Steps& progress, const std::atomic<bool>* cancel) {
            made_ = lesson_picture(path, progress, cancel);
            return made_->run;
        },
        wake_);
    return actions;
}

}  // namespace meshscope::session
