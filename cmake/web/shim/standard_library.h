// Included before every file of the web build (CMakeLists.txt): the parts of the C++20 library that the engine uses and
// the libc++ of Debian 12's emscripten (3.1.6) lacks: bit_cast, and the algorithms of std::ranges, here over those of
// std. Each takes what the engine hands it, not all that the standard allows. Where the library brings them itself
// (__cpp_lib_ranges), nothing is added.
#pragma once
#ifdef __cplusplus

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

// Linux' call, which exchanges two names; here the two take turns, since nobody else is there to look between.
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
inline int renameat2(int, const char* from, int, const char* to, unsigned) {
    const std::string between = std::string(to) + ".exchanged";
    if (std::rename(to, between.c_str()) != 0) return -1;
    if (std::rename(from, to) != 0) return -1;
    return std::rename(between.c_str(), from);
}
#endif

namespace std {

#ifndef __cpp_lib_bit_cast
template <class To, class From>
    requires(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> && is_trivially_copyable_v<From>)
constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}
#endif

#ifndef __cpp_lib_to_chars
/// The shortest digits that read back as `value`, and of their two notations the shorter, the plain one where both are
/// as long: what the standard asks of to_chars without a format.
template <class T>
    requires is_floating_point_v<T>
to_chars_result to_chars(char* first, char* last, T value) {
    char text[64];
    if (!isfinite(value)) {
        snprintf(text, sizeof text, isnan(value) ? (signbit(value) ? "-nan" : "nan") : value < 0 ? "-inf" : "inf");
    } else {
        const auto reads_back = [&] {
            if constexpr (sizeof(T) == sizeof(float))
                return strtof(text, nullptr) == value;
            else
                return strtod(text, nullptr) == value;
        };
        int digits = 0;
        do snprintf(text, sizeof text, "%.*e", digits, static_cast<double>(value));
        while (!reads_back() && ++digits < 17);
        const int exponent = atoi(strchr(text, 'e') + 1);
        char plain[400];
        const int behind = max(0, digits - exponent);
        const int length = snprintf(plain, sizeof plain, "%.*f", behind, static_cast<double>(value));
        if (length <= static_cast<int>(strlen(text))) memcpy(text, plain, static_cast<size_t>(length) + 1);
    }
    const auto length = static_cast<ptrdiff_t>(strlen(text));
    if (length > last - first) return {last, errc::value_too_large};
    memcpy(first, text, static_cast<size_t>(length));
    return {first + length, errc()};
}
template <class T>
    requires is_floating_point_v<T>
from_chars_result from_chars(const char* first, const char* last, T& value) {
    // As in the "C" locale, without what strtod takes beyond that: blanks, a plus sign, hexadecimal digits.
    const char* end = first;
    if (end != last && *end == '-') ++end;
    if (end == last || !(isdigit(static_cast<unsigned char>(*end)) || *end == '.')) return {first, errc::invalid_argument};
    while (end != last && (isdigit(static_cast<unsigned char>(*end)) || *end == '.' ||
                           ((*end == 'e' || *end == 'E') && end != first) ||
                           ((*end == '-' || *end == '+') && (end[-1] == 'e' || end[-1] == 'E'))))
        ++end;
    const string text(first, end);
    char* stop = nullptr;
    const double read = strtod(text.c_str(), &stop);
    if (stop == text.c_str()) return {first, errc::invalid_argument};
    value = static_cast<T>(read);
    return {first + (stop - text.c_str()), isfinite(read) ? errc() : errc::result_out_of_range};
}
#endif

#ifndef __cpp_lib_smart_ptr_for_overwrite
template <class T>
    requires is_unbounded_array_v<T>
unique_ptr<T> make_unique_for_overwrite(size_t n) {
    return unique_ptr<T>(new remove_extent_t<T>[n]);
}
#endif

#ifndef __cpp_lib_ranges
namespace ranges {
namespace web {

template <class R>
concept Range = requires(R&& range) {
    std::begin(range);
    std::end(range);
};

/// A predicate, or a comparison, of what a projection gives.
template <class F, class P>
auto projected(F& f, P& p) {
    return [&f, &p](auto&&... value) -> decltype(auto) {
        return std::invoke(f, std::invoke(p, std::forward<decltype(value)>(value))...);
    };
}

}  // namespace web

template <class In, class Out>
struct web_in_out {
    In in;
    Out out;
};

namespace web {

/// What an algorithm that went through all of `range` and wrote up to `end` returns.
template <class R, class O>
constexpr auto behind(R& range, O end) {
    return web_in_out<decltype(std::end(range)), O>{std::end(range), end};
}

}  // namespace web

// An algorithm over a range, or over two iterators, and a predicate.
#define MESHSCOPE_WEB_PREDICATE(name)                                                                    \
    inline constexpr struct web_##name {                                                                 \
        template <class I, class F, class P = identity>                                                  \
        constexpr auto operator()(I first, I last, F f, P p = {}) const {                                \
            return std::name(first, last, web::projected(f, p));                                         \
        }                                                                                                \
        template <web::Range R, class F, class P = identity>                                             \
        constexpr auto operator()(R&& range, F f, P p = {}) const {                                      \
            return (*this)(std::begin(range), std::end(range), std::ref(f), std::ref(p));                \
        }                                                                                                \
    } name {}
MESHSCOPE_WEB_PREDICATE(all_of);
MESHSCOPE_WEB_PREDICATE(any_of);
MESHSCOPE_WEB_PREDICATE(none_of);
MESHSCOPE_WEB_PREDICATE(find_if);
MESHSCOPE_WEB_PREDICATE(find_if_not);
MESHSCOPE_WEB_PREDICATE(count_if);
#undef MESHSCOPE_WEB_PREDICATE

// One that looks for a value.
#define MESHSCOPE_WEB_VALUE(name, with)                                                                  \
    inline constexpr struct web_##name {                                                                 \
        template <class I, class T, class P = identity>                                                  \
        constexpr auto operator()(I first, I last, const T& value, P p = {}) const {                     \
            return std::with(first, last, [&](auto&& each) -> bool {                                     \
                return std::invoke(p, std::forward<decltype(each)>(each)) == value;                      \
            });                                                                                          \
        }                                                                                                \
        template <web::Range R, class T, class P = identity>                                             \
        constexpr auto operator()(R&& range, const T& value, P p = {}) const {                           \
            return (*this)(std::begin(range), std::end(range), value, std::ref(p));                      \
        }                                                                                                \
    } name {}
MESHSCOPE_WEB_VALUE(find, find_if);
MESHSCOPE_WEB_VALUE(count, count_if);
#undef MESHSCOPE_WEB_VALUE

// One that compares elements.
#define MESHSCOPE_WEB_ORDER(name)                                                                        \
    inline constexpr struct web_##name {                                                                 \
        template <class I, class F = less, class P = identity>                                           \
            requires(!web::Range<I>)                                                                     \
        constexpr auto operator()(I first, I last, F f = {}, P p = {}) const {                           \
            return std::name(first, last, web::projected(f, p));                                         \
        }                                                                                                \
        template <web::Range R, class F = less, class P = identity>                                      \
        constexpr auto operator()(R&& range, F f = {}, P p = {}) const {                                 \
            return (*this)(std::begin(range), std::end(range), std::ref(f), std::ref(p));                \
        }                                                                                                \
    } name {}
MESHSCOPE_WEB_ORDER(max_element);
MESHSCOPE_WEB_ORDER(min_element);
MESHSCOPE_WEB_ORDER(is_sorted);
#undef MESHSCOPE_WEB_ORDER

// And gives the end.
#define MESHSCOPE_WEB_SORT(name)                                                                         \
    inline constexpr struct web_##name {                                                                 \
        template <class I, class F = less, class P = identity>                                           \
            requires(!web::Range<I>)                                                                     \
        constexpr I operator()(I first, I last, F f = {}, P p = {}) const {                              \
            std::name(first, last, web::projected(f, p));                                                \
            return last;                                                                                 \
        }                                                                                                \
        template <web::Range R, class F = less, class P = identity>                                      \
        constexpr auto operator()(R&& range, F f = {}, P p = {}) const {                                 \
            return (*this)(std::begin(range), std::end(range), std::ref(f), std::ref(p));                \
        }                                                                                                \
    } name {}
MESHSCOPE_WEB_SORT(sort);
MESHSCOPE_WEB_SORT(stable_sort);
#undef MESHSCOPE_WEB_SORT

// A search by halves: `value` stands on the right where f(element, value) is asked, on the left otherwise.
inline constexpr struct web_lower_bound {
    template <web::Range R, class T, class F = less, class P = identity>
    constexpr auto operator()(R&& range, const T& value, F f = {}, P p = {}) const {
        return std::partition_point(std::begin(range), std::end(range),
                                    [&](auto&& each) { return std::invoke(f, std::invoke(p, each), value); });
    }
} lower_bound{};
inline constexpr struct web_upper_bound {
    template <web::Range R, class T, class F = less, class P = identity>
    constexpr auto operator()(R&& range, const T& value, F f = {}, P p = {}) const {
        return std::partition_point(std::begin(range), std::end(range),
                                    [&](auto&& each) { return !std::invoke(f, value, std::invoke(p, each)); });
    }
} upper_bound{};
inline constexpr struct web_binary_search {
    template <web::Range R, class T, class F = less, class P = identity>
    constexpr bool operator()(R&& range, const T& value, F f = {}, P p = {}) const {
        const auto at = lower_bound(range, value, std::ref(f), std::ref(p));
        return at != std::end(range) && !std::invoke(f, value, std::invoke(p, *at));
    }
} binary_search{};

inline constexpr struct web_equal {
    template <web::Range A, web::Range B, class F = equal_to, class P = identity, class Q = identity>
    constexpr bool operator()(A&& a, B&& b, F f = {}, P p = {}, Q q = {}) const {
        return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b),
                          [&](auto&& x, auto&& y) { return std::invoke(f, std::invoke(p, x), std::invoke(q, y)); });
    }
    template <class I, class J, class F = equal_to>
        requires(!web::Range<I>)
    constexpr bool operator()(I first, I last, J other, J other_last, F f = {}) const {
        return std::equal(first, last, other, other_last, f);
    }
} equal{};

inline constexpr struct web_copy {
    template <web::Range R, class O>
    constexpr auto operator()(R&& range, O out) const {
        return web::behind(range, std::copy(std::begin(range), std::end(range), out));
    }
} copy{};
inline constexpr struct web_copy_if {
    template <web::Range R, class O, class F, class P = identity>
    constexpr auto operator()(R&& range, O out, F f, P p = {}) const {
        return web::behind(range, std::copy_if(std::begin(range), std::end(range), out, web::projected(f, p)));
    }
} copy_if{};
inline constexpr struct web_move {
    template <web::Range R, class O>
    constexpr auto operator()(R&& range, O out) const {
        return web::behind(range, std::move(std::begin(range), std::end(range), out));
    }
} move{};
inline constexpr struct web_transform {
    template <web::Range R, class O, class F, class P = identity>
        requires(!web::Range<O>)
    constexpr auto operator()(R&& range, O out, F f, P p = {}) const {
        return web::behind(range, std::transform(std::begin(range), std::end(range), out, web::projected(f, p)));
    }
    template <web::Range A, web::Range B, class O, class F>
    constexpr auto operator()(A&& a, B&& b, O out, F f) const {
        return std::transform(std::begin(a), std::end(a), std::begin(b), out, f);
    }
} transform{};
inline constexpr struct web_fill {
    template <web::Range R, class T>
    constexpr void operator()(R&& range, const T& value) const {
        std::fill(std::begin(range), std::end(range), value);
    }
} fill{};
inline constexpr struct web_replace {
    template <web::Range R, class T, class U>
    constexpr void operator()(R&& range, const T& old_value, const U& new_value) const {
        std::replace(std::begin(range), std::end(range), old_value, new_value);
    }
} replace{};
inline constexpr struct web_reverse {
    template <web::Range R>
    constexpr void operator()(R&& range) const {
        std::reverse(std::begin(range), std::end(range));
    }
} reverse{};
inline constexpr struct web_stable_partition {
    template <web::Range R, class F>
    constexpr void operator()(R&& range, F f) const {
        std::stable_partition(std::begin(range), std::end(range), f);
    }
} stable_partition{};
inline constexpr struct web_rotate {
    template <web::Range R, class I>
    constexpr void operator()(R&& range, I middle) const {
        std::rotate(std::begin(range), middle, std::end(range));
    }
} rotate{};

/// What of a subrange is asked here.
template <class I>
struct web_subrange {
    I first, last;
    constexpr I begin() const { return first; }
    constexpr I end() const { return last; }
    constexpr bool empty() const { return first == last; }
    constexpr size_t size() const { return static_cast<size_t>(last - first); }
    constexpr auto data() const { return to_address(first); }
};
inline constexpr struct web_equal_range {
    template <web::Range R, class T, class F = less, class P = identity>
    constexpr auto operator()(R&& range, const T& value, F f = {}, P p = {}) const {
        const auto first = std::partition_point(std::begin(range), std::end(range), [&](auto&& each) {
            return std::invoke(f, std::invoke(p, each), value);
        });
        const auto last = std::partition_point(
            first, std::end(range), [&](auto&& each) { return !std::invoke(f, value, std::invoke(p, each)); });
        return web_subrange<remove_const_t<decltype(first)>>{first, last};
    }
} equal_range{};
inline constexpr struct web_unique {
    template <web::Range R>
    constexpr auto operator()(R&& range) const {
        const auto last = std::end(range), first = std::unique(std::begin(range), last);
        return web_subrange<remove_const_t<decltype(first)>>{first, last};
    }
} unique{};

}  // namespace ranges
#endif

}  // namespace std
#endif
