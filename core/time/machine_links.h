#pragma once

#include <cstdint>
#include <vector>

#include "core/time/profile.h"
#include "core/trace/trace.h"

namespace meshscope::time {

/// Which machines the ranks of a trace stand on, and what lies between any two of them. The trace outlives
/// it.
class MachineLinks {
  public:
    /// With a profile that limits what a node sends in all, groups share it: counted here, once. O(ranks of
    /// all groups).
    MachineLinks(const trace::Trace& trace, const Profile& profile);

    int32_t machine(int32_t rank) const;
    /// The link that a hop of that group takes between two ranks.
    Link link(int32_t group, int32_t a, int32_t b) const;

  private:
    void count_sharers();

    const trace::Trace& trace_;
    std::vector<int32_t> sharers_;  ///< by group; empty: nothing is shared
};

}  // namespace meshscope::time
