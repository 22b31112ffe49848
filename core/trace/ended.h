#pragma once

#include <cstdint>
#include <optional>

#include "core/base/message.h"
#include "core/trace/trace.h"

namespace meshscope::trace {

/// The first step whose loss, or whose gradients' norm, is no number.
std::optional<int32_t> first_not_finite_step(const RunInfo& info);

/// Why this record's run ended before its end, or went on with numbers that mean nothing; nothing for a run
/// that came to its end. The engine's own sentence where it failed, else the first step that is NaN or
/// infinite, else that it was stopped. `planned_steps`: what its scenario asks for, < 0 where that is not
/// known.
std::optional<Message> early_end(const RunInfo& info, int32_t planned_steps = -1);

}  // namespace meshscope::trace
