#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshscope::mesh {

/// How Python prints these values, so that what the window quotes from PyTorch is what a user's terminal
/// shows.

/// repr of a str: 'tp', and "it's" where it holds a single quote and no double one. Bytes from 0x80 on stay
/// (UTF-8).
std::string python_repr(std::string_view text);
/// The product as Python's integers have it, which have no end.
std::string python_product(const std::vector<int64_t>& factors);
/// A tuple: (), ('tp',), ('replicate', 'shard').
std::string python_tuple(const std::vector<std::string>& items);
/// A tuple of numbers: (), (8,), (2, 4).
std::string python_tuple(const std::vector<int64_t>& items);
/// A list: ['replicate', 'shard'].
std::string python_list(const std::vector<std::string>& items);
/// A list of numbers: [0, 1].
std::string python_list(const std::vector<int64_t>& items);
/// A row-major array as nested lists: [[0, 1], [2, 3]]; a 0-d one is its single value.
std::string python_nested_list(const std::vector<int64_t>& shape, const std::vector<int64_t>& items);

}  // namespace meshscope::mesh
