#pragma once

#include <string>
#include <string_view>

#include "core/scenario/section.h"

namespace meshscope::scenario {

/// A file that a key names, relative to the scenario's folder: absolute, and there. "" when the key is absent
/// or the file is missing (reported).
std::string existing_file(const Section& section, std::string_view key, const std::string& folder);

/// The same of `given`, what the key says or a part of it.
std::string existing_file(const Section& section, std::string_view key, const std::string& given,
                          const std::string& folder);

/// A folder that a key names, there or not: absolute. "" when the key is absent or empty (reported).
std::string folder_path(const Section& section, std::string_view key, const std::string& folder);

}  // namespace meshscope::scenario
