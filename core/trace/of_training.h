#pragma once

#include "core/trace/event.h"

namespace meshscope::trace {

/// Whether an event is the training step's own: not of an evaluation or of saving a checkpoint, which come
/// after a step and bear its number.
inline bool is_of_training(const Event& event) {
    return event.phase != Phase::evaluation && (event.phase != Phase::setup || event.step < 0);
}

}  // namespace meshscope::trace
