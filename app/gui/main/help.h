#pragma once

#include <string>

#include "app/i18n/catalogue.h"

namespace meshscope::gui {

/// What --help prints.
std::string help_text(i18n::Language language);
/// What --version prints.
std::string version_line();

}  // namespace meshscope::gui
