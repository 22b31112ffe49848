#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/session/actions.h"
#include "app/gui/session/document_maker.h"

namespace meshscope::session {

/// Really runs a lesson, without its variants, and finds the step that its picture shows: one of
/// its own run, in the view that its steps show most. Questions are left out. Throws as
/// load_document() does.
std::shared_ptr<const LessonPicture> lesson_picture(
    const std::string& scenario, const std::function<void(int32_t done, int32_t steps)>& progress = {},
    const std::atomic<bool>* cancel = nullptr);

/// Makes the pictures of the lessons that the welcome page shows, one after the other in the background; what
/// comes of it are actions for the state.
class LessonPictures {
  public:
    /// Called from the worker whenever there is news; must be quick and safe from any thread.
    void on_news(std::function<void()> wake) { wake_ = std::move(wake); }
    /// These in this order, in the place of what was wanted before; what is under way goes on.
    void want(const std::vector<std::string>& ids);
    /// Gives up what is under way, for something that was asked for is to run: it is begun again later.
    void pause();
    /// What happened since the last call. `busy`: nothing new is begun.
    std::vector<Action> news(bool busy);

  private:
    std::function<void()> wake_;
    std::deque<std::string> wanted_;
    std::string under_way_;
    std::shared_ptr<const LessonPicture> made_;      ///< by the worker, before it is done
    std::unique_ptr<DocumentMaker<Loading>> maker_;  ///< null when nothing is under way
};

}  // namespace meshscope::session
