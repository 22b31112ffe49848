#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace meshscope {

/// What bounds the memory that this process and those beside it may still take.
enum class MemoryBound : unsigned char { machine, cgroup, address_space };

struct FreeMemory {
    int64_t bytes = 0;
    MemoryBound bound = MemoryBound::machine;
};

/// What a system says of its memory, as far as it says it.
struct MemoryFacts {
    std::optional<int64_t> available_bytes;     ///< MemAvailable and free swap
    std::optional<int64_t> cgroup_left_bytes;   ///< of the tightest cgroup
    std::optional<int64_t> address_left_bytes;  ///< what address_space_left() says: of this process alone
};

/// The least of what is known; nothing where nothing is.
std::optional<FreeMemory> free_memory(const MemoryFacts& facts);

/// MemAvailable and SwapFree of /proc/meminfo's text, in bytes.
std::optional<int64_t> available_bytes(std::string_view meminfo);

/// What a cgroup leaves: its limit less what it uses, where pages of files that can be dropped at once do not
/// count. `limit` and `usage` are the texts of memory.max and memory.current (version 2) or
/// memory.limit_in_bytes and memory.usage_in_bytes (1), `stat` that of memory.stat. Nothing where there is no
/// limit ("max", or version 1's number near 2^63).
std::optional<int64_t> cgroup_left_bytes(std::string_view limit, std::string_view usage,
                                         std::string_view stat);

/// Where a process stands among the cgroups, from the text of /proc/self/cgroup: version 2's line "0::/PATH"
/// and version 1's "N:…memory…:/PATH". "" where there is none.
struct CgroupPaths {
    std::string v2, v1;
};
CgroupPaths cgroup_paths(std::string_view text);

/// Looks. Cost: some small files of /proc and /sys, 0.1 ms.
MemoryFacts look_at_memory();

}  // namespace meshscope
