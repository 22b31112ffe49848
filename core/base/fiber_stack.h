#pragma once

#include <cstdint>

namespace meshscope {

/// The addresses that a rank's stack takes where ranks are fibers of one thread. Memory it takes only as it
/// is touched.
inline constexpr int64_t kFiberStackBytes = int64_t{1} << 20;

}  // namespace meshscope
