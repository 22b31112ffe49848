#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/comm/schedule/steps.h"

namespace meshscope::comm {

/// How a Ring's hops are named.
struct RingNames {
    int32_t round = 0;   ///< of its first hop
    int32_t chunk = 0;   ///< the number of part 0
    int32_t stride = 1;  ///< from one part's number to the next's
    int32_t chunk_of(int32_t part) const { return chunk + part * stride; }
};

/// The two halves of a ring all_reduce, in place in the output, over k of the ranks (all of them, or those of
/// one level).
///
/// `parts` are at most k, part i being that of place i; places beyond them own none, so what would be theirs
/// does not travel. The rank at place i sends to i+1 and receives from i-1, counted around.
///
/// Source: Patarasu and Yuan 2009; see ring.cpp.
class Ring {
  public:
    /// `ranks` are group ranks, this one among them. They and the parts must live as long as the ring.
    Ring(Steps& steps, std::span<const int32_t> ranks, std::span<const Part> parts);

    /// k-1 rounds; s: sends part i-s-1 and adds what it receives into part i-s-2. At the end place i has the
    /// whole sum of part i: ((x[i+1] + x[i+2]) + … + x[i-1]) + x[i], rounded at each hop.
    void reduce(RingNames names);
    /// k-1 rounds; s: sends part i-s and receives part i-s-1 into its place.
    void gather(RingNames names);

    /// Round s of the two halves, the sends apart, for rings that go at the same time: all send first.
    void send_to_reduce(int32_t s, RingNames names);
    void reduce(int32_t s, RingNames names);
    void send_to_gather(int32_t s, RingNames names);
    void receive(int32_t s, RingNames names);

    /// This rank's part, which has the whole sum between the two.
    Stretch own() const { return at(me_); }

  private:
    int32_t size() const { return static_cast<int32_t>(ranks_.size()); }
    int32_t around(int32_t place) const { return (place % size() + size()) % size(); }
    bool travels(int32_t part) const { return part < static_cast<int32_t>(parts_.size()); }
    Stretch at(int32_t part) const {
        return {Stretch::kOutput, parts_[static_cast<std::size_t>(part)].first,
                parts_[static_cast<std::size_t>(part)].elements};
    }

    Steps& steps_;
    std::span<const int32_t> ranks_;
    std::span<const Part> parts_;
    int32_t me_ = 0;  ///< this rank's place
    int32_t next_ = 0, previous_ = 0;
};

/// 0, 1, … p-1: a ring through all.
std::vector<int32_t> all_ranks(const Steps& steps);

namespace cards {
/// The ring's own, for algorithms that fall back to it on some groups.
void ring_reduce_scatter(Steps& steps);
void ring_all_gather(Steps& steps);
}  // namespace cards

}  // namespace meshscope::comm
