#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/schedule/step.h"

namespace meshscope::comm {

/// A collective as a whole, for whoever looks at all its ranks at once.
struct ScheduleCall {
    CollectiveOp op = CollectiveOp::all_reduce;
    int32_t ranks = 2;
    int32_t root = 0;
    int64_t elements = 0;  ///< of the full buffer; an all_to_all's: of each rank's input, in even parts
    int64_t element_bytes = 4;
    std::vector<int64_t> counts{};   ///< the full buffer's parts by rank; empty: even
    std::vector<int32_t> node_of{};  ///< as NodeLevels takes it
};

/// Says one rank's steps; gives the number of rounds of the whole collective.
using StepsOfRank = std::function<int32_t(const ScheduleQuery& query, const StepSink& sink)>;

/// Why a schedule is not the collective that it is said to be. Ranks are group ranks.
struct ScheduleFlaw {
    enum class Kind {
        missing,         ///< `ranks` are not in the sum that `rank` ends with
        twice,           ///< `ranks` are in it more than once
        wrong_place,     ///< what stands there belongs elsewhere: to `found` of `ranks`
        unwritten,       ///< nothing was ever written there
        not_divided,     ///< an average was not divided by the number of ranks, or more than once
        mixed,           ///< a reduction adds what belongs to different elements, `element` and `found`
        message_size,    ///< `peer` sent `found` elements where `rank` expects `elements`
        never_sent,      ///< `rank` waits for a message of `peer`, which has ended
        never_received,  ///< `rank` sent a message that `peer` never takes
        circle,          ///< `ranks` wait for each other, each for the next
        outside,         ///< a step reaches beyond a buffer, or to a rank that is not there
        rounds,          ///< the schedule has `found` rounds and says `elements`
    };
    Kind kind = Kind::missing;
    int32_t rank = -1;
    int32_t peer = -1;    ///< who sent what stands there last; -1: nobody
    int32_t round = -1;   ///< in which that came, or in which the rank waits
    int32_t step = -1;    ///< of `rank`'s steps
    int64_t element = -1;  ///< of the buffer that is looked at (`rank`'s output)
    int64_t elements = -1;
    int64_t found = -1;
    std::vector<int32_t> ranks{};
    /// Of `missing`: the first step that puts something without one of these ranks in the place of what had
    /// it.
    int32_t lost_rank = -1;  ///< who takes it; -1: there is none
    int32_t lost_step = -1;
};

/// Follows a schedule symbolically, without numbers: which ranks' contributions stand in which element after
/// each step, in what order messages can travel. Nothing: every rank ends with what the op's definition says,
/// AVG divided once, every message is taken, nobody waits for ever, and the rounds are as said. Else the first
/// thing that is wrong, a wait that never ends before a wrong result, the lowest rank and element first.
///
/// For collectives between all ranks of a call (no send or recv). Cost: O(steps · elements of a step) of all
/// ranks together; a few hundred elements show all that an algorithm can do wrong.
std::optional<ScheduleFlaw> verify(const ScheduleCall& call, const StepsOfRank& steps);

/// The same for an algorithm of the list.
std::optional<ScheduleFlaw> verify(const ScheduleCall& call, Algorithm algorithm);


}  // namespace meshscope::comm
