#pragma once

#include <functional>
#include <string>

#include "app/gui/main/options.h"

namespace meshscope::gui {

/// What a window that nobody touches costs, as one JSON line given to `print`: this program opens `lesson`
/// in a real window of the options' size, with settings of its own, is left alone for three seconds, and its
/// processor time is read over five more; "core_percent" is its share of one core. Without a display, or
/// where the window does not come, the line says "skipped" and why.
void bench_idle(const Options& options, const std::string& lesson,
                const std::function<void(const std::string&)>& print);

}  // namespace meshscope::gui
