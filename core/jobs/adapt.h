#pragma once

#include <string>

#include "core/jobs/job.h"

namespace meshscope::jobs {

/// Puts what a scenario's strategies have no key for into `unsaid`, and says what was chosen where nothing
/// says it: steps, optimizer, ranks of a machine.
void adapt(Job& job);

/// Gives up what a scenario is refused for, under the id of that message, and notes it as unsaid. False where
/// there is nothing to give up.
bool concede(const std::string& refusal, Job& job);

}  // namespace meshscope::jobs
