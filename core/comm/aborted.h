#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/message.h"

namespace meshscope::comm {

/// Whether a failure says what ranks' calls have to do with each other, or that a rank waited for another for
/// too long. Then it is the same sentence on every rank: whoever saw it has not failed itself, so nobody is
/// told that another failed first.
bool is_told_by_all(const Message& failure);

/// That rank `first` failed first, with `cause`, as `rank` throws it: "comm.aborted" {rank, and the cause
/// inside (core/base/cause.h)}; "comm.aborted_unknown" {rank} where the cause has no id, because that rank
/// did not say why. Secondary.
CommError aborted(GlobalRank rank, int32_t first, const Message& cause);

/// Throws what that means for `rank` in its next or present call: the same, or the cause
/// itself where all are told the same.
[[noreturn]] void throw_aborted(GlobalRank rank, int32_t first, const Message& cause);

}  // namespace meshscope::comm
