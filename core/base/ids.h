#pragma once

#include <compare>
#include <cstdint>

namespace meshscope {

/// A rank of the world, 0 … world_size-1. Not convertible to or from a rank inside a group.
struct GlobalRank {
    int32_t value = 0;
    friend auto operator<=>(const GlobalRank&, const GlobalRank&) = default;
};

/// A rank's position in a process group, 0 … group_size-1.
struct GroupRank {
    int32_t value = 0;
    friend auto operator<=>(const GroupRank&, const GroupRank&) = default;
};

}  // namespace meshscope
