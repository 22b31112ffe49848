#pragma once

#include <string>

#include "core/base/message.h"

namespace meshscope::view {

/// The catalogue of one language as a view sees it: a sentence for a message. The window wires app/i18n
/// behind it, tests a table of their own, so that this room depends on no catalogue file.
class Texts {
  public:
    virtual ~Texts() = default;
    virtual std::string text(const Message& message) const = 0;
};

}  // namespace meshscope::view
