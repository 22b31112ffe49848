#pragma once

#include <cstdint>
#include <optional>

#include "app/gui/view/stepping.h"
#include "core/time/profile.h"

namespace meshscope::view {

/// What a recorded call would take under a profile if its whole buffer had `bytes`, cut evenly: by the steps
/// that its algorithm says (time::modelled of a call without hops), not by a run. Nothing where the call has
/// no algorithm of the engine's, or one member. Found once where there is a memo. Cost: O(members + steps of
/// some 30 ranks).
std::optional<int64_t> predicted_ns(const trace::Trace& trace, EventRef call, const time::Profile& profile,
                                    int64_t bytes, Memo* memo = nullptr);

}  // namespace meshscope::view
