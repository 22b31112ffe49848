#include "app/gui/session/runner.h"

#include <exception>
#include <filesystem>

#include "app/gui/session/lesson_document.h"
#include "app/i18n/error_text.h"
#include "backends/registry.h"
#include "core/base/replace_file.h"
#include "core/run/run.h"

namespace meshscope::session {

namespace fs = std::filesystem;

void Runner::on_news(std::function<void()> wake) {
    wake_ = std::move(wake);
}

void Runner::start(const RunRequest& request) {
    if (maker_) return;
    request_ = request;
    Running running;
    running.name = request.name;
    running.what_if = request.what_if;
    using Maker = DocumentMaker<Running>;
    maker_ = std::make_unique<Maker>(
        running,
        [request](const Maker::Steps& progress, const std::atomic<bool>* cancel) {
            return run_text(request, progress, cancel);
        },
        wake_);
}

void Runner::stop() {
    if (!maker_) return;
    maker_->cancel();
    maker_->change_progress([](Running& running) { running.stopping = true; });
}

std::vector<Action> Runner::news(const i18n::Catalogue& catalogue, i18n::Language language) {
    std::vector<Action> actions;
    if (!maker_) return actions;
    maker_->give_time();
    if (!maker_->is_done()) {
        if (const auto running = maker_->take_progress()) actions.push_back(ShowRunning{*running});
        return actions;
    }
    actions.push_back(ShowRunning{});
    try {
        actions.push_back(RunEnded{request_, maker_->made()});
    } catch (const Cancelled& error) {
        actions.push_back(ShowToast{catalogue.text(error.message(), language)});
    } catch (const InputError& error) {
        actions.push_back(RunRefused{request_, error.diagnostics()});
        if (!request_.what_if.empty())
            actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
    } catch (const std::exception& error) {
        actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
    }
    maker_.reset();
    return actions;
}

std::shared_ptr<const Document> run_text(const RunRequest& request,
                                         const std::function<void(int32_t, int32_t)>& progress,
                                         const std::atomic<bool>* cancel) {
    const sandbox::Reading reading = sandbox::read_text(request.text, request.path);
    if (!reading.scenario) {
        std::vector<Diagnostic> found;
        for (const sandbox::Mistake& mistake : reading.mistakes) found.push_back(mistake.diagnostic);
        throw InputError(std::move(found));
    }
    std::shared_ptr<const trace::Trace> trace;
    run::RunOptions options;
    options.backend = backends::window_backend();
    options.level = trace::Level::values;  // the window shows what travels
    options.cancel = cancel;
    options.on_failure = [&](const std::shared_ptr<const trace::Trace>& so_far) { trace = so_far; };
    if (progress) options.progress = [&](int32_t done, int32_t steps, double) { progress(done, steps); };
    try {
        trace = run::run_scenario(*reading.scenario, *backends::make_registry(), options).trace;
    } catch (const CommError&) {
        // What broke it is what is to be seen: its record up to there says why.
        if (!trace || trace->ranks.empty()) throw;
    }
    if (cancel != nullptr && *cancel) throw Cancelled({"sandbox.stopped", {{"name", request.name}}});
    return make_document(trace, request.name, nullptr);
}

std::vector<Action> save(const SaveRequest& request, const i18n::Catalogue& catalogue,
                         i18n::Language language) {
    try {
        std::error_code ignored;
        if (fs::exists(request.to.path, ignored) && !request.replace) return {SaveEnded{true}};
        const fs::path path = fs::absolute(request.to.path);
        replace_file(path.string(), sandbox::saved_text(request.text, request.to.form, request.from_folder,
                                                        path.parent_path().string()));
        return {SaveEnded{false},
                ShowToast{catalogue.text({"sandbox.saved", {{"path", path.string()}}}, language)}};
    } catch (const std::exception& error) {
        return {ShowError{{i18n::describe_error(error, catalogue, language).lines}}};
    }
}

}  // namespace meshscope::session
