#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace meshscope {

/// The limit of a process's resource (RLIMIT_AS, RLIMIT_NOFILE, …) as it stands; nothing where there is none.
inline std::optional<int64_t> limit_of(int resource) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::nullopt;
    constexpr rlim_t kMost = rlim_t{1} << 62;
    return static_cast<int64_t>(std::min(limit.rlim_cur, kMost));
}

}  // namespace meshscope
