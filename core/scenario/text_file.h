#pragma once

#include <cstdint>
#include <string>

namespace meshscope::scenario {

/// Scenarios and lesson texts are written by hand; a larger file is something else.
inline constexpr int64_t kMostTextBytes = 1 << 20;

/// A file's bytes, at most kMostTextBytes + 1 of them: one more than allowed is enough to know, and a device
/// that never ends is not read further. Throws IoError "file.cannot_read", "file.is_a_folder" {path}.
std::string read_text_file(const std::string& path);

}  // namespace meshscope::scenario
