#include "app/gui/session/runner.h"

#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "app/gui/session/lesson_document.h"
#include "app/i18n/error_text.h"
#include "backends/registry.h"
#include "core/base/replace_file.h"
#include "core/run/run.h"

namespace meshscope::session {

namespace fs = std::filesystem;

struct Runner::Worker {
    std::mutex lock;
    bool told = true;  ///< the latest progress was fetched
    Running running;
    std::shared_ptr<const Document> document;
    std::exception_ptr error;
    bool done = false;
    RunRequest request;
    std::atomic<bool> cancel{false};
    std::thread thread;

    ~Worker() {
        cancel = true;
        if (thread.joinable()) thread.join();
    }
};

Runner::Runner() = default;
Runner::~Runner() = default;

void Runner::on_news(std::function<void()> wake) {
    wake_ = std::move(wake);
}

void Runner::start(const RunRequest& request) {
    if (worker_) return;
    worker_ = std::make_unique<Worker>();
    Worker& worker = *worker_;
    worker.request = request;
    worker.running.name = request.name;
    worker.running.what_if = request.what_if;
    worker.told = false;
    worker.thread = std::thread([this, &worker] {
        const auto tell = [this] {
            if (wake_) wake_();
        };
        try {
            auto document = run_text(
                worker.request,
                [&](int32_t done, int32_t steps) {
                    {
                        const std::lock_guard guard(worker.lock);
                        worker.running.steps_done = done;
                        worker.running.steps = steps;
                        worker.told = false;
                    }
                    tell();
                },
                &worker.cancel);
            const std::lock_guard guard(worker.lock);
            worker.document = std::move(document);
            worker.done = true;
        } catch (...) {
            const std::lock_guard guard(worker.lock);
            worker.error = std::current_exception();
            worker.done = true;
        }
        tell();
    });
}

void Runner::stop() {
    if (!worker_) return;
    worker_->cancel = true;
    const std::lock_guard guard(worker_->lock);
    worker_->running.stopping = true;
    worker_->told = false;
}

std::vector<Action> Runner::news(const i18n::Catalogue& catalogue, i18n::Language language) {
    std::vector<Action> actions;
    if (!worker_) return actions;
    {
        const std::lock_guard guard(worker_->lock);
        if (!worker_->done) {
            if (!worker_->told) actions.push_back(ShowRunning{worker_->running});
            worker_->told = true;
            return actions;
        }
    }
    // The thread has nothing more to write.
    actions.push_back(ShowRunning{});
    try {
        if (worker_->error) std::rethrow_exception(worker_->error);
        actions.push_back(RunEnded{worker_->request, worker_->document});
    } catch (const Cancelled& error) {
        actions.push_back(ShowToast{catalogue.text(error.message(), language)});
    } catch (const InputError& error) {
        actions.push_back(RunRefused{worker_->request, error.diagnostics()});
        if (!worker_->request.what_if.empty())
            actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
    } catch (const std::exception& error) {
        actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
    }
    worker_.reset();
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
