#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/time/profile.h"

namespace meshscope::time {

/// The names of the profiles inside this program: "classroom", "laptop", "a100" …
std::vector<std::string> profile_names();

/// A profile by one of these names. Throws InvalidArgument ("time.unknown_profile": name, known).
Profile named_profile(std::string_view name);

/// Reads a profile from TOML; docs/profile.md tables the keys. `path` is what messages call the file. Throws
/// InputError with every mistake (syntax, unknown and missing keys, wrong types, impossible values), each
/// with line and column.
Profile parse_profile(std::string_view text, const std::string& path);

/// The same from a file; IoError as read_text_file() when it cannot be read.
Profile read_profile(const std::string& path);

/// The file that reads back as `profile`, figures to six digits.
std::string profile_text(const Profile& profile, const std::string& comment = "");

}  // namespace meshscope::time
