#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace meshscope {

/// How deep a text may nest its tables and arrays: a table's header counts each part of its name, a key each
/// part of its own, a value each bracket it stands in. Whoever walks such a tree calls itself as often, and
/// so does the library when it takes one down.
inline constexpr int kMostTomlDepth = 64;

/// The only way from a text to TOML: a scenario's, a profile's, a catalogue's, what the window's editor
/// holds. What is too large or too deep is refused before the parser sees it. `path` is the file's name, for
/// messages. Throws InputError "toml.too_large", "toml.too_deep" and "toml.syntax", each at its place.
toml::table parse_toml(std::string_view text, const std::string& path);

/// A text as a value of TOML: a basic string, in quotes. Cost: linear.
std::string toml_string(std::string_view text);

}  // namespace meshscope
