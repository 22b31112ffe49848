#include "app/gui/session/session.h"

#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "app/i18n/error_text.h"

namespace meshscope::session {

/// One opening: its thread, and what it has to tell, under one lock.
struct Session::Worker {
    std::mutex lock;
    bool told = true;  ///< the latest progress was fetched
    Loading loading;
    std::shared_ptr<const Document> document;
    std::exception_ptr error;
    bool done = false;
    Job job;
    std::atomic<bool> cancel{false};
    std::thread thread;

    ~Worker() {
        cancel = true;
        if (thread.joinable()) thread.join();
    }
};

Session::Session(Places places) : places_(std::move(places)) {}
Session::~Session() = default;

void Session::on_news(std::function<void()> wake) {
    wake_ = std::move(wake);
}

void Session::open(const std::string& what) {
    waiting_.clear();
    start({what, false, false});
}

void Session::open_beside(const OpenBeside& next) {
    add({next.path, true, next.look, next.strategy, next.resume, {}});
}

void Session::open_retimed(std::shared_ptr<const Document> document, const std::string& profile) {
    add({profile, true, true, {}, {}, std::move(document)});
}

void Session::cancel() {
    waiting_.clear();
    if (worker_) worker_->cancel = true;
}

void Session::add(Job job) {
    if (worker_)
        waiting_.push_back(std::move(job));
    else
        start(std::move(job));
}

void Session::start(Job job) {
    const std::string what = job.what, strategy = job.strategy, resume = job.resume;
    const std::shared_ptr<const Document> retime = job.retime;
    worker_ = std::make_unique<Worker>();  // the destructor of the one before waits for it to stop
    Worker& worker = *worker_;
    worker.job = std::move(job);
    worker.loading.name = strategy;
    if (strategy.empty()) worker.loading.name = std::filesystem::path(what).filename().string();
    if (worker.loading.name == "scenario.toml") {
        worker.loading.name = std::filesystem::path(what).parent_path().filename().string();
    }
    std::error_code none;
    if (std::filesystem::exists(what, none))
        worker.loading.file = std::filesystem::absolute(what, none).string();
    worker.told = false;
    worker.thread = std::thread([this, &worker, what, strategy, resume, retime] {
        const auto tell = [this] {
            if (wake_) wake_();
        };
        try {
            auto document = retime ? retimed(*retime, what)
                                   : load_document(
                                         what, places_,
                                         [&](int32_t steps_done, int32_t steps) {
                                             {
                                                 const std::lock_guard guard(worker.lock);
                                                 worker.loading.steps_done = steps_done;
                                                 worker.loading.steps = steps;
                                                 worker.told = false;
                                             }
                                             tell();
                                         },
                                         &worker.cancel, strategy, resume);
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

std::vector<Action> Session::news(const i18n::Catalogue& catalogue, i18n::Language language) {
    std::vector<Action> actions;
    if (!worker_) return actions;
    bool done = false;
    {
        const std::lock_guard guard(worker_->lock);
        done = worker_->done;
        if (!done && !worker_->told) {
            worker_->told = true;
            actions.push_back(ShowLoading{worker_->loading});
        }
    }
    if (!done) return actions;
    // The thread has nothing more to write.
    if (worker_->cancel) {
        actions.push_back(ShowLoading{});
        actions.push_back(
            ShowToast{catalogue.text({"ui.loading.cancelled", {{"name", worker_->loading.name}}}, language)});
    } else if (worker_->error) {
        try {
            std::rethrow_exception(worker_->error);
        } catch (const std::exception& error) {
            actions.push_back(ShowError{{i18n::describe_error(error, catalogue, language).lines}});
        }
    } else if (worker_->job.beside) {
        actions.push_back(AddDocument{worker_->document, worker_->job.look});
    } else {
        actions.push_back(ShowDocument{worker_->document});
        // A lesson says itself when the comparison is to be seen.
        const Document& document = *worker_->document;
        for (const auto& next : document.compare)
            waiting_.push_back(
                {next.path.empty() ? document.path : next.path, true, document.steps.empty(), next.strategy});
    }
    worker_.reset();
    if (!waiting_.empty()) {
        const Job next = waiting_.front();
        waiting_.pop_front();
        start(next);
    }
    return actions;
}

}  // namespace meshscope::session
