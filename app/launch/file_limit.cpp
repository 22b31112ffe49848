#include "app/launch/file_limit.h"

#include <algorithm>

#include "core/base/error.h"

namespace meshscope::launch {

FileLimit::FileLimit(const OpenFiles& files, int32_t workers) {
    if (::getrlimit(RLIMIT_NOFILE, &given_) != 0) return;
    if (given_.rlim_max < static_cast<rlim_t>(files.least))
        throw IoError({"launch.too_few_files",
                       {{"workers", int64_t{workers}},
                        {"needed", files.least},
                        {"most", static_cast<int64_t>(given_.rlim_max)}}});
    rlimit raised = given_;
    raised.rlim_cur = std::min(given_.rlim_max, static_cast<rlim_t>(files.wanted));
    if (raised.rlim_cur <= given_.rlim_cur) return;
    is_raised_ = ::setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

FileLimit::~FileLimit() {
    if (is_raised_) ::setrlimit(RLIMIT_NOFILE, &given_);
}

}  // namespace meshscope::launch
