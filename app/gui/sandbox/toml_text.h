#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::sandbox {

/// A value as it stands in a file, on one line: 8, 0.1, "ring", [2, 2], { param = "bfloat16" }.
std::string value_text(const toml::node& node);

/// What such text says; null for what is no value. Cost: linear.
std::unique_ptr<toml::node> parse_value(std::string_view text);

/// A whole file from its table: keys and tables in the order of docs/scenario.md, small tables on one line,
/// everything else as it would be written by hand. Comments are not kept.
std::string written(const toml::table& root);

/// mesh.shape in its parts, and together again.
std::string joined(std::string_view table, std::string_view name);
std::vector<std::string> split_key(std::string_view key);

/// The table that a path leads to; of an array of tables its first is meant. Null where there is none.
toml::table* table_at(toml::table& root, const std::vector<std::string>& path);
const toml::table* table_at(const toml::table& root, const std::vector<std::string>& path);
/// The node of a key. Null where the file has none.
const toml::node* node_at(const toml::table& root, std::string_view key);

/// Where a line and a column (from 1, in code points) stand in the text; its length for what is outside.
std::size_t byte_of(std::string_view text, const toml::source_position& at);

}  // namespace meshscope::sandbox
