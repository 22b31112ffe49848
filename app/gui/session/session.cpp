#include "app/gui/session/session.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "app/gui/session/dropped.h"
#include "app/gui/session/lessons.h"
#include "app/gui/session/planned.h"
#include "app/gui/session/runner.h"
#include "app/i18n/error_text.h"
#include "core/estimate/layout_figures.h"

namespace meshscope::session {

namespace fs = std::filesystem;

namespace {

/// What is to be opened, so that it is one thing whichever way it is named: "~/" is the home folder, and the
/// path of a file, or of a folder with a scenario, is absolute and without links. Names of lessons stay, also
/// beside a folder of that name.
std::string whole_path(const std::string& what, const std::string& home) {
    const bool at_home = what.starts_with("~/") && !home.empty();
    const fs::path path = at_home ? fs::path(home) / what.substr(2) : fs::path(what);
    std::error_code none;
    const bool there = fs::is_regular_file(path, none) || fs::exists(path / "scenario.toml", none);
    const fs::path whole = there ? fs::canonical(path, none) : fs::path();
    return !whole.empty() ? whole.string() : path.string();
}

}  // namespace

Session::Session(LessonFolders folders) : folders_(std::move(folders)) {}

std::vector<LessonCard> Session::offers() const {
    return with_search_words(find_lessons(folders_));
}

void Session::on_news(std::function<void()> wake) {
    wake_ = std::move(wake);
}

void Session::open(const std::string& what) {
    waiting_.clear();
    start({what, false, false});
}

void Session::open(const RunRequest& text) {
    waiting_.clear();
    start({text.name, false, false, {}, {}, {}, text});
}

void Session::open_beside(const OpenBeside& next) {
    add({next.path, true, next.look, next.strategy, next.resume, {}});
}

void Session::open_retimed(std::shared_ptr<const Document> document, const std::string& profile) {
    add({profile, true, true, {}, {}, std::move(document)});
}

void Session::open_layout(const std::shared_ptr<const Planned>& plan, const OpenLayout& wanted) {
    waiting_.clear();
    const auto job_of = [&](std::size_t at) {
        Job job{estimate::layout_word(plan->layouts.at(at).estimate->job)};
        job.plan = plan;
        job.layout = at;
        return job;
    };
    start(job_of(wanted.layout));
    if (!wanted.with_fastest || wanted.layout == 0) return;
    Job fastest = job_of(0);
    fastest.beside = fastest.look = true;
    add(std::move(fastest));
}

void Session::change_plan(const std::shared_ptr<const Planned>& plan, const scenario::PlanChange& change) {
    waiting_.clear();
    Job job{plan->name};
    job.plan = plan;
    job.change = change;
    start(std::move(job));
}

void Session::cancel() {
    waiting_.clear();
    if (maker_) maker_->cancel();
}

void Session::add(Job job) {
    if (maker_)
        waiting_.push_back(std::move(job));
    else
        start(std::move(job));
}

void Session::start(Job job) {
    maker_.reset();  // waits for the one before to stop
    job_ = std::move(job);
    if (!job_.plan && !job_.text) job_.what = whole_path(job_.what, folders_.home);
    const fs::path path = job_.what;
    shown_ = {};
    shown_.name = job_.plan                            ? job_.what
                  : !job_.strategy.empty()             ? job_.strategy
                  : path.filename() == "scenario.toml" ? path.parent_path().filename().string()
                                                       : path.filename().string();
    shown_.plans = job_.change.has_value();
    shown_.models = job_.plan != nullptr && !shown_.plans;
    std::error_code none;
    if (fs::exists(path, none)) shown_.file = fs::absolute(path, none).string();
    using Maker = BackgroundMaker<Loading, Opened>;
    maker_ = std::make_unique<Maker>(
        shown_,
        [job = job_, folders = folders_](const Maker::Steps& progress,
                                         const std::atomic<bool>* cancel) -> Opened {
            if (job.text) return {run_text(*job.text, progress, cancel), {}};
            if (job.retime) return {retimed(*job.retime, job.what), {}};
            const auto busy = [&] { progress(0, 0); };
            if (job.change) return {{}, plan_changed(*job.plan, *job.change, busy, cancel)};
            if (job.plan) return {run_layout(job.plan, job.layout, progress, cancel), {}};
            if (!job.beside && opens_as_plan(job.what)) return {{}, load_plan(job.what, busy, cancel)};
            return {load_document(job.what, folders, progress, cancel, job.strategy, job.resume), {}};
        },
        wake_);
}

std::vector<Action> Session::news(const i18n::Catalogue& catalogue, i18n::Language language) {
    std::vector<Action> actions;
    if (!maker_) return actions;
    maker_->give_time();
    if (!maker_->is_done()) {
        if (const auto loading = maker_->take_progress()) actions.push_back(ShowLoading{*loading});
        return actions;
    }
    if (maker_->is_cancelled()) {
        actions.push_back(ShowLoading{});
        actions.push_back(ShowToast{catalogue.text(
            {shown_.plans ? "ui.plan.unchanged" : "ui.loading.cancelled", {{"name", shown_.name}}},
            language)});
    } else {
        try {
            show(maker_->made(), actions);
        } catch (const std::exception& error) {
            actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
        }
    }
    maker_.reset();
    if (!waiting_.empty()) {
        Job next = std::move(waiting_.front());
        waiting_.pop_front();
        start(std::move(next));
    }
    return actions;
}

void Session::show(const Opened& opened, std::vector<Action>& actions) {
    if (opened.plan) {
        actions.push_back(ShowPlan{opened.plan});
        return;
    }
    const std::shared_ptr<const Document>& document = opened.document;
    if (job_.beside) {
        actions.push_back(AddDocument{document, job_.look});
        return;
    }
    actions.push_back(ShowDocument{document});
    // A lesson says itself when the comparison is to be seen.
    for (const auto& next : document->compare)
        waiting_.push_back(
            {next.path.empty() ? document->path : next.path, true, document->steps.empty(), next.strategy});
}

}  // namespace meshscope::session
