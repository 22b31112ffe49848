#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gui/session/settings.h"

namespace meshscope::session {

/// What the end of the window stops: a run that is under way (`run`: what it was started with; null where
/// none is), one that opens a scenario's file, which stays where it is, edits of the sandbox that are not
/// saved
/// (`saved`: the text that was saved last), an export. The scenarios of the first two are written into
/// `folder`, which is made where it is missing, under names that no file has; one that lies there already
/// with the same text is taken. What cannot be written is told to `refused` ("file.cannot_write"), and the
/// rest is kept.
std::vector<Unfinished> keep_unfinished(const AppState& state, const RunRequest* run,
                                        const std::string& saved, const std::string& folder,
                                        const std::function<void(const Message&)>& refused);

}  // namespace meshscope::session
