#pragma once

#include <cstdint>

namespace meshscope {

/// How many cores the calling thread may use: taskset, a batch system or a container may leave it fewer than
/// the machine has, which std::thread::hardware_concurrency() counts. At least 1. For ranks that are threads
/// of one process; of processes each may be bound to cores of its own, so one cannot speak for all.
int32_t usable_cores();

}  // namespace meshscope
