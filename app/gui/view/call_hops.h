#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/gui/view/call_landings.h"

namespace meshscope::view {

/// Neighbouring cuts of a call's buffer: [first, last).
struct CutSpan {
    int32_t first = 0, last = 0;
};

/// One hop of a call.
struct CallHop {
    const trace::Hop* hop = nullptr;
    int32_t sender = 0, receiver = 0;  ///< group ranks
    uint32_t first = 0, last = 0;      ///< what it carries, in CallHops::spans
};

/// The hops of a call, and the buffer as finely cut as they cut it.
struct CallHops {
    std::vector<CallHop> hops;  ///< by round, then receiver
    std::vector<CutSpan> spans;
    std::vector<int64_t> cuts;       ///< where any hop begins or ends, the columns' edges, and the end
    std::vector<int32_t> column_of;  ///< of each cut

    /// Calls `each` with the cuts that a hop carries; those without elements never travel.
    template <class Each>
    void each_cut(const CallHop& hop, const Each& each) const {
        for (uint32_t s = hop.first; s < hop.last; ++s)
            for (int32_t cut = spans[s].first; cut < spans[s].last; ++cut) {
                const auto at = static_cast<std::size_t>(cut);
                if (cuts[at] < cuts[at + 1]) each(at);
            }
    }
};

/// Ops whose parts are named by their owner, in place of an offset in one buffer that all have.
bool has_owned_parts(CollectiveOp op);

/// Finds the members of a call and their events: fills `call` but for what lands.
void find_members(const trace::Trace& trace, const time::Clock& clock, EventRef shown, CallLandings& call);

/// The hops of a call whose members were found; fills its columns and rounds. Cost: O(hops · log cuts).
CallHops hops_of_call(const trace::Trace& trace, CallLandings& call);

}  // namespace meshscope::view
