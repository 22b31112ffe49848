// Included before every file of the web build's window: one more algorithm of std::ranges that the libc++ of Debian 12's
// emscripten lacks (standard_library.h has those of the engine).
#pragma once
#ifdef __cplusplus

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

#ifndef __cpp_lib_ranges
namespace std::ranges {

/// What of std::ranges::subrange is asked here.
template <class I>
struct web_subrange {
    I first, last;
    constexpr I begin() const { return first; }
    constexpr I end() const { return last; }
    constexpr bool empty() const { return first == last; }
    constexpr std::size_t size() const { return static_cast<std::size_t>(last - first); }
    constexpr auto data() const { return std::to_address(first); }
};
inline constexpr struct web_equal_range {
    template <class R, class T, class F = std::less<>, class P = std::identity>
    constexpr auto operator()(R&& range, const T& value, F f = {}, P p = {}) const {
        const auto first = std::partition_point(std::begin(range), std::end(range), [&](auto&& each) {
            return std::invoke(f, std::invoke(p, each), value);
        });
        const auto last = std::partition_point(
            first, std::end(range), [&](auto&& each) { return !std::invoke(f, value, std::invoke(p, each)); });
        return web_subrange<std::remove_const_t<decltype(first)>>{first, last};
    }
} equal_range{};

}  // namespace std::ranges
#endif
#endif
