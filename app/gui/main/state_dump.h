#pragma once

#include <string>

#include "app/gui/main/stage.h"

namespace meshscope::gui {

/// The state as one line of JSON: language, theme, scale, view, cursor, selection, lesson, quizzes, panels;
/// "frame" counts what was drawn, so that whoever moves the pointer can wait until that was seen.
/// For tests that drive the real window, and for reports of faults.
std::string state_as_json(const Stage& stage);

/// Writes it to `path` where it differs from `last`, which it becomes; the file always holds a whole state:
/// it is written beside and renamed. "": nowhere.
void dump_state(const Stage& stage, const std::string& path, std::string& last);

}  // namespace meshscope::gui
