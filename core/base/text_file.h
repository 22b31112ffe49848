#pragma once

#include <cstdint>
#include <string>

namespace meshscope {

/// Scenarios, lesson texts, profiles and settings are written by hand; a larger file is something else.
inline constexpr int64_t kMostTextBytes = 1 << 20;

/// A file's bytes, at most `most` + 1 of them: one more than allowed is enough to know. Throws
/// IoError "file.cannot_read", "file.is_a_folder", "file.not_regular_input", "file.name_with_nul" {path}:
/// pipes and devices are refused before they are opened, since that may wait for ever.
std::string read_text_file(const std::string& path, int64_t most = kMostTextBytes);

}  // namespace meshscope
