#pragma once

#include "core/base/message.h"

namespace meshscope::comm {

/// Whether a failure says what ranks' calls have to do with each other. Then it is the same sentence on every
/// rank, and nobody is told that another failed first.
inline bool is_told_by_all(const Message& failure) {
    return failure.id.starts_with("diagnosis.") || failure.id == "comm.peer_finished";
}

}  // namespace meshscope::comm
