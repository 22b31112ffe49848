#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace meshscope {

/// getrlimit's first parameter is an enumeration of its own in one C library and an int in another.
template <class Resource>
int get_limit(int (*ask)(Resource, rlimit*), int resource, rlimit* limit) {
    return ask(static_cast<Resource>(resource), limit);
}

/// The limit of a process's resource (RLIMIT_AS, RLIMIT_NOFILE, …) as it stands; nothing where there is none.
inline std::optional<int64_t> limit_of(int resource) {
    rlimit limit{};
    if (get_limit(&getrlimit, resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::nullopt;
    constexpr rlim_t kMost = rlim_t{1} << 62;
    return static_cast<int64_t>(std::min(limit.rlim_cur, kMost));
}

}  // namespace meshscope
