#include "app/gui/view/format.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/digits.h"
#include "core/base/rank_set.h"

namespace meshscope::view {
namespace {

constexpr const char* kMinus = "\u2212";

// Three significant digits of a value that is at least 1 and below 1000.
std::string three_digits(double value) {
    std::array<char, 32> text{};
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

std::string joined(const std::vector<int64_t>& values, const char* open, const char* close) {
    std::string text = open;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) text += ", ";
        text += std::to_string(values[i]);
    }
    return text + close;
}

}  // namespace

std::string format_count(int64_t count) {
    const std::string digits = grouped(std::to_string(count < 0 ? -count : count));
    return count < 0 ? kMinus + digits : digits;
}

std::string format_percent(double share) {
    const auto percent = std::llround(100 * share);
    return percent == 0 && share > 0 ? "< 1" : std::to_string(percent);
}

std::string format_exact_bytes(int64_t bytes) {
    return format_count(bytes) + " B";
}

std::string format_bytes(int64_t bytes) {
    const int64_t size = bytes < 0 ? -bytes : bytes;
    if (size <= 99'999) return format_exact_bytes(bytes);
    double value = static_cast<double>(size) / 1e3;
    std::size_t unit = 0;
    constexpr std::array<const char*, 4> kUnits{" KB", " MB", " GB", " TB"};
    while (value >= 999.5 && unit + 1 < kUnits.size()) {
        value /= 1e3;
        ++unit;
    }
    return (bytes < 0 ? kMinus : "") + three_digits(value) + kUnits[unit];
}

std::string format_time(int64_t t_ns) {
    const int64_t size = t_ns < 0 ? -t_ns : t_ns;
    const std::string sign = t_ns < 0 ? kMinus : "";
    if (size < 1000) return sign + std::to_string(size) + " ns";
    double value = static_cast<double>(size) / 1e3;
    std::size_t unit = 0;
    constexpr std::array<const char*, 3> kUnits{" µs", " ms", " s"};
    while (value >= 999.5 && unit + 1 < kUnits.size()) {
        value /= 1e3;
        ++unit;
    }
    return sign + three_digits(value) + kUnits[unit];
}

double round_step(double least) {
    double step = 1;
    while (step * 10 <= least) step *= 10;
    for (const double times : {1.0, 2.0, 5.0})
        if (step * times >= least) return step * times;
    return step * 10;
}

std::string format_number(float value, int digits) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? std::string(kMinus) + "inf" : "inf";
    std::array<char, 40> text{};
    // Whole numbers below a million stand as they are: 1234 must not become 1.23e+03.
    if (value == std::floor(value) && std::fabs(value) < 1e6F)
        std::snprintf(text.data(), text.size(), "%.0f", static_cast<double>(std::fabs(value)));
    else
        std::snprintf(text.data(), text.size(), "%.*g", digits, static_cast<double>(std::fabs(value)));
    return (value < 0 ? kMinus : "") + std::string(text.data());
}

std::string format_list(const std::vector<int64_t>& values) {
    return joined(values, "[", "]");
}

std::string format_ranks(const std::vector<int64_t>& ranks) {
    if (ranks.size() <= kShownRankParts) return format_list(ranks);
    return "[" + ranks_text(ranks) + "] (" + std::to_string(ranks.size()) + ")";
}

std::string format_tuple(const std::vector<int64_t>& values) {
    return values.size() == 1 ? "(" + std::to_string(values[0]) + ",)" : joined(values, "(", ")");
}

}  // namespace meshscope::view
