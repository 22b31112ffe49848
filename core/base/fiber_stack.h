#pragma once

#include <cstdint>

namespace meshscope {

/// The addresses that a rank's stack takes where ranks are fibers of one thread of this machine (a browser's
/// are smaller: backends/fibers/context_emscripten.cpp), and those below it that nobody may touch. Memory it
/// takes only as it is touched.
inline constexpr int64_t kFiberStackBytes = int64_t{1} << 20, kFiberGuardBytes = int64_t{64} << 10;

}  // namespace meshscope
