#pragma once

#include <cstdint>
#include <string>

namespace meshscope {

/// Bytes of a GiB.
inline constexpr double kGiB = 1024.0 * 1024 * 1024;

/// "1.5 GiB": three figures of the largest unit that is not above it.
std::string bytes_text(int64_t bytes);

}  // namespace meshscope
