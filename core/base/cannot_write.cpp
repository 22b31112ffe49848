#include "core/base/cannot_write.h"

#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "core/base/resource_limit.h"

namespace meshscope {

Message cannot_write(const std::string& path, int error) {
    const std::string reason = std::generic_category().message(error);
    const auto limit = error == EFBIG    ? limit_of(RLIMIT_FSIZE)
                       : error == EMFILE ? limit_of(RLIMIT_NOFILE)
                                         : std::nullopt;
    if (!limit) return {"file.cannot_write", {{"path", path}, {"reason", reason}}};
    const bool size = error == EFBIG;
    return {size ? "file.too_large" : "file.too_many_open",
            {{"path", path},
             {"limit", *limit},
             {"reason", reason + (size ? " (ulimit -f: " : " (ulimit -n: ") + std::to_string(*limit) + ")"}}};
}

}  // namespace meshscope
