#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "app/gui/session/background.h"
#include "app/gui/session/document.h"

namespace meshscope::session {

/// Makes one document in the background. `Progress` is what the window shows meanwhile: a name, and
/// steps_done of steps. Its end asks the making to stop and waits for it.
template <typename Progress>
class DocumentMaker {
  public:
    using Steps = std::function<void(int32_t done, int32_t steps)>;
    using Make =
        std::function<std::shared_ptr<const Document>(const Steps&, const std::atomic<bool>* cancel)>;

    /// Begins. `wake` (may be empty) may be called on another thread, whenever there is news.
    DocumentMaker(Progress progress, Make make, std::function<void()> wake)
        : progress_(std::move(progress)), make_(std::move(make)), wake_(std::move(wake)) {
        try {
            background_.emplace([this](Background& background) { run(background); });
        } catch (...) {  // told as a making that failed is
            error_ = std::current_exception();
            done_ = true;
        }
    }
    ~DocumentMaker() {
        cancel_ = true;
        background_.reset();
    }
    DocumentMaker(const DocumentMaker&) = delete;
    DocumentMaker& operator=(const DocumentMaker&) = delete;

    /// Once a frame.
    void give_time() {
        if (background_) background_->give_time();
    }
    /// The making stops after its present step.
    void cancel() { cancel_ = true; }
    bool is_cancelled() const { return cancel_; }

    bool is_done() const {
        const std::lock_guard guard(lock_);
        return done_;
    }
    /// The progress, where it changed since the last call.
    std::optional<Progress> take_progress() {
        const std::lock_guard guard(lock_);
        if (std::exchange(told_, true)) return std::nullopt;
        return progress_;
    }
    /// `change(progress)`: what is to be shown becomes another.
    template <typename Change>
    void change_progress(Change change) {
        const std::lock_guard guard(lock_);
        change(progress_);
        told_ = false;
    }
    /// Once it is done: what was made; throws what the making threw.
    std::shared_ptr<const Document> document() const {
        const std::lock_guard guard(lock_);
        if (error_) std::rethrow_exception(error_);
        return document_;
    }

  private:
    void run(Background& background) {
        std::shared_ptr<const Document> document;
        std::exception_ptr error;
        try {
            document = make_(
                [&](int32_t done, int32_t steps) {
                    change_progress([&](Progress& progress) {
                        progress.steps_done = done;
                        progress.steps = steps;
                    });
                    if (wake_) wake_();
                    background.pause();
                },
                &cancel_);
        } catch (...) {
            error = std::current_exception();
        }
        {
            const std::lock_guard guard(lock_);
            document_ = std::move(document);
            error_ = error;
            done_ = true;
        }
        if (wake_) wake_();
    }

    mutable std::mutex lock_;
    bool told_ = false;  ///< the latest progress was fetched
    bool done_ = false;
    Progress progress_;
    std::shared_ptr<const Document> document_;
    std::exception_ptr error_;
    std::atomic<bool> cancel_{false};
    const Make make_;
    const std::function<void()> wake_;
    std::optional<Background> background_;
};

}  // namespace meshscope::session
