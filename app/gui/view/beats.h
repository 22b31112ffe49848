#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/view/stepping.h"

namespace meshscope::view {

/// Something that is over at one moment: a hop has landed, or a call or a computation has ended. Playing
/// pauses at each, and says in a sentence what happened. Where the cursor was moved to a moment at which
/// nothing is over: what begins there.
struct Beat {
    int64_t t_ns = 0;
    EventRef event;                  ///< of a hop: the receiver's
    std::optional<std::size_t> hop;  ///< its index among the rank's hops
    /// Further ranks at which a hop of such a call landed at that moment; of what begins: that begin the
    /// same.
    int32_t others = 0;
    bool begins = false;
};

/// The first moment after the cursor at which a hop lands on any rank, or an event of `rank` without hops
/// ends. What ends later by at most an eighth of the time that it took is over at the same moment: on the
/// measured clock no two ranks end together. Of all that is over then the beat tells what concerns `rank`
/// most: what it received, what it sent, what others received, its call, its computation. Nothing at the end
/// of the run. Cost: O(events + hops).
std::optional<Beat> next_beat(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                              int32_t rank);

/// The beat that the cursor stands on: what is over there as next_beat() tells it, else what begins there on
/// `rank` or on others, else what ends there on others; nothing between. Cost: as next_beat().
std::optional<Beat> beat_at(const trace::Trace& trace, const time::Clock& clock, Cursor cursor, int32_t rank);

/// "all_reduce net1, hop 2: rank 1 added chunk 0 (16 B) from rank 0; 3 more ranks received theirs".
/// `briefly`: "hop 2: rank 0 → rank 1, 16 B", "all_reduce has ended on rank 1".
std::string beat_words(const Texts& texts, const trace::Trace& trace, const Beat& beat, bool briefly = false);

}  // namespace meshscope::view
