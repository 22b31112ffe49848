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

/// Makes one thing in the background. `Progress` is what the window shows meanwhile: a name, and steps_done
/// of steps. Its end asks the making to stop and waits for it.
template <typename Progress, typename Made>
class BackgroundMaker {
  public:
    using Steps = std::function<void(int32_t done, int32_t steps)>;
    using Make = std::function<Made(const Steps&, const std::atomic<bool>* cancel)>;

    /// Begins. `wake` (may be empty) may be called on another thread, whenever there is news.
    BackgroundMaker(Progress progress, Make make, std::function<void()> wake)
        : progress_(std::move(progress)), make_(std::move(make)), wake_(std::move(wake)) {
        try {
            background_.emplace([this](Background& background) { run(background); });
        } catch (...) {  // told as a making that failed is
            error_ = std::current_exception();
            done_ = true;
        }
    }
    ~BackgroundMaker() {
        cancel_ = true;
        background_.reset();
    }
    BackgroundMaker(const BackgroundMaker&) = delete;
    BackgroundMaker& operator=(const BackgroundMaker&) = delete;

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
    Made made() const {
        const std::lock_guard guard(lock_);
        if (error_) std::rethrow_exception(error_);
        return made_;
    }

  private:
    void run(Background& background) {
        Made made{};
        std::exception_ptr error;
        try {
            made = make_(
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
            made_ = std::move(made);
            error_ = error;
            done_ = true;
        }
        if (wake_) wake_();
    }

    mutable std::mutex lock_;
    bool told_ = false;  ///< the latest progress was fetched
    bool done_ = false;
    Progress progress_;
    Made made_{};
    std::exception_ptr error_;
    std::atomic<bool> cancel_{false};
    const Make make_;
    const std::function<void()> wake_;
    std::optional<Background> background_;
};

template <typename Progress>
using DocumentMaker = BackgroundMaker<Progress, std::shared_ptr<const Document>>;

}  // namespace meshscope::session
