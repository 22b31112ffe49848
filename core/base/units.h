#pragma once

namespace meshscope {

/// Bytes of a GiB.
inline constexpr double kGiB = 1024.0 * 1024 * 1024;

}  // namespace meshscope
