#pragma once

#include <cstdint>
#include <vector>

#include "core/time/profile.h"
#include "core/trace/trace.h"

namespace meshscope::comm {
class OwnAlgorithm;
}  // namespace meshscope::comm

namespace meshscope::time {

/// A collective whose hops were not recorded, as far as its members' events tell.
struct Unrecorded {
    const trace::Event* event = nullptr;  ///< a member's
    int32_t members = 1;
    int64_t sent_bytes = 0;        ///< the most that a member sent
    int64_t full_bytes = 0;        ///< the whole buffer: the largest input or output of a member
    Link link;                     ///< the slowest kind in the group
    std::vector<int32_t> node_of;  ///< the members' nodes; as NodeLevels takes them
    const comm::OwnAlgorithm* own =
        nullptr;  ///< what Algorithm::own means; null: the op's usual one is taken
};

/// What it takes by the steps that its algorithm says: the sum over the rounds of how long the busiest rank's port
/// is busy, sending or receiving, in each. Equal to time_hops where all ranks wait for each other in every
/// round; where some go ahead, a little more.
///
/// Of more than a few ranks some are looked at: the first and the last of the group and of its first nodes, and
/// others spread evenly; a round in which none of them has a hop takes as long as the mean of those that have.
/// The full buffer is cut evenly; where the record says that a member of an all_gather, reduce_scatter or
/// all_to_all sent more or less, the bytes are taken in proportion. Cost: O(steps of some 30 ranks).
int64_t unrecorded_ns(const Profile& profile, const Unrecorded& collective);

}  // namespace meshscope::time
