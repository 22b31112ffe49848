#include "core/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace meshscope {

int32_t usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max<int32_t>(1, CPU_COUNT(&set));
    // A machine with more processors than the set has room for.
    return std::max<int32_t>(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace meshscope
