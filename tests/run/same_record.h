#pragma once

#include <string>

#include "core/trace/trace.h"

namespace meshscope::test {

/// The first thing in which a dry run's record and the real run's differ, apart from times: an event, a
/// memory change, a dependency or the peak of a rank, as text. "" where the prediction came true.
std::string first_difference(const trace::Trace& dry, const trace::Trace& real);

}  // namespace meshscope::test
