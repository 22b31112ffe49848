#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/gui/session/actions.h"
#include "app/gui/session/document_maker.h"
#include "app/i18n/catalogue.h"

namespace meshscope::session {

/// Really runs scenarios of the sandbox and of what-if questions on a thread of its own, one at a time, while
/// the window goes on; what comes of it are actions for the state. The destructor stops the run after its
/// current step and waits for it.
class Runner {
  public:
    /// Called from the worker whenever there is news; must be quick and safe from any thread.
    void on_news(std::function<void()> wake);
    /// Starts a run; nothing while another is under way.
    void start(const RunRequest& request);
    /// Stops the run after its current step, without a result.
    void stop();
    /// What happened since the last call. Errors are told in `language`.
    std::vector<Action> news(const i18n::Catalogue& catalogue, i18n::Language language);

  private:
    std::function<void()> wake_;
    RunRequest request_;
    std::unique_ptr<DocumentMaker<Running>> maker_;  ///< null when nothing runs
};

/// Really runs a scenario's text, with all values recorded; of a run that failed what it recorded up to
/// there. Throws InputError, IoError, CommError, InvalidArgument; Cancelled where `cancel` ended it.
std::shared_ptr<const Document> run_text(const RunRequest& request,
                                         const std::function<void(int32_t done, int32_t steps)>& progress,
                                         const std::atomic<bool>* cancel);

/// Saves as asked: ShowToast and SaveEnded when it was, SaveEnded{exists} when there is a file that was not
/// to be replaced, ShowError when the system refused.
std::vector<Action> save(const SaveRequest& request, const i18n::Catalogue& catalogue,
                         i18n::Language language);

}  // namespace meshscope::session
