#pragma once

#include <exception>
#include <string>

#include "app/gui/main/stage.h"
#include "app/i18n/catalogue.h"
#include "core/base/message.h"

namespace meshscope::gui {

/// Messages for the reader, in the language that is chosen. In a page, whose reader sees no files, without
/// folders, and by a text of its own where the message has one ("settings.kept_run_in_page").
class Telling {
  public:
    /// Both outlive it.
    Telling(Stage& stage, const i18n::Catalogue& catalogue) : stage_(stage), catalogue_(catalogue) {}

    i18n::Language language() const;
    std::string words(Message message) const;
    /// Passes by itself.
    void tell(const Message& message) const;
    /// Stands until it is closed.
    void show(const std::exception& error) const;
    /// On the terminal, where there is no window any more.
    void say(const Message& message) const;

  private:
    Stage& stage_;
    const i18n::Catalogue& catalogue_;
};

}  // namespace meshscope::gui
