#pragma once

#include <toml++/toml.h>

#include <optional>

namespace meshscope {

/// The number that a TOML value is, nothing where it is none. An integer is the nearest double, also beyond
/// 2^53, where toml++'s value<double>() gives nothing because it would not come back the same.
inline std::optional<double> toml_number(const toml::node& node) {
    if (const auto* integer = node.as_integer()) return static_cast<double>(integer->get());
    if (const auto* number = node.as_floating_point()) return number->get();
    return std::nullopt;
}

}  // namespace meshscope
