#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/gui/session/actions.h"
#include "app/i18n/catalogue.h"

namespace meshscope::session {

/// Runs a scenario with all ranks held, on a stepped world, and lets them go on one by one as it is told.
/// Whenever they are held it tells how each stands and what was recorded so far; that is made by running the
/// same choices again up to there, which gives the same bits. Its end gives the run up and waits for it.
class LiveRun {
  public:
    LiveRun();
    ~LiveRun();
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;

    /// Called from other threads whenever there is news; must be quick and safe from any thread.
    void on_news(std::function<void()> wake);
    /// Begins; a run that is under way is given up.
    void start(const RunRequest& request);
    /// Ignored while ranks run.
    void let_go(const LetGo& how);
    void stop();
    /// What happened since the last call. Errors are told in `language`.
    std::vector<Action> news(const i18n::Catalogue& catalogue, i18n::Language language);

  private:
    struct Worker;
    std::function<void()> wake_;
    std::unique_ptr<Worker> worker_;
};

}  // namespace meshscope::session
