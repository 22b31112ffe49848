#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "core/trace/trace.h"

namespace meshscope::trace {

/// Where one rank stands in the groups it is in. Asked once an event, so each group is searched once only.
class GroupPlaces {
  public:
    GroupPlaces(const Trace& trace, int32_t rank) : trace_(trace), rank_(rank) {}

    /// The rank's group rank in `group` (an index into the group table); -1 when it is no member.
    int32_t of(int32_t group) {
        const auto [found, is_new] = places_.try_emplace(group, -1);
        if (is_new) {
            const auto& members = trace_.groups[static_cast<std::size_t>(group)].ranks;
            const auto at = std::find(members.begin(), members.end(), rank_);
            if (at != members.end()) found->second = static_cast<int32_t>(at - members.begin());
        }
        return found->second;
    }

  private:
    const Trace& trace_;
    int32_t rank_;
    std::unordered_map<int32_t, int32_t> places_;
};

}  // namespace meshscope::trace
