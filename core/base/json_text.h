#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/text.h"

namespace meshscope {

/// How deep a text may nest its lists and objects, and how many members an object may have: whoever walks
/// such a tree calls itself as often, and an ordered object looks through all of its members for each new
/// one.
inline constexpr int kMostJsonDepth = 64;
inline constexpr int64_t kMostJsonMembers = 30'000;

/// Whether a text stays within both and has no NUL. Says nothing of whether it is JSON.
bool is_readable_json(std::string_view text);

/// The only way from a text to JSON (but for safetensors' headers, which are read as they come, three deep):
/// a discarded value (is_discarded()) where it is none, or beyond the limits above.
template <class Json>
Json parse_json(std::string_view text) {
    return is_readable_json(text) ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

/// The whole number that a value is, where it is one that T can hold. (The library's own get() makes some
/// number of any: 2^32 becomes 0 as int32_t, 1e300 is undefined.)
template <class T, class Json>
std::optional<T> json_whole(const Json& value) {
    static_assert(std::is_integral_v<T> && std::is_signed_v<T>);
    if (!value.is_number_integer()) return std::nullopt;
    if (value.is_number_unsigned() &&
        value.template get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max()))
        return std::nullopt;
    const auto whole = value.template get<int64_t>();
    if (whole < std::numeric_limits<T>::min() || whole > std::numeric_limits<T>::max()) return std::nullopt;
    return static_cast<T>(whole);
}

/// JSON as text for a terminal or a file, without any raw character that is_unseen(): they stand as \u009b,
/// which reads back the same. Bytes that are no UTF-8 become U+FFFD.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
    return printable(json.dump(indent, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace meshscope
