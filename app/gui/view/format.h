#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace meshscope::view {

/// Numbers as the window writes them (look.md section 8): the real minus sign, three digits where more decide
/// nothing.

/// "1,980 B" up to 99,999 B; then "262 KB", "2.23 MB", "1.50 GB" in powers of ten with three digits.
std::string format_bytes(int64_t bytes);
/// "2,228,248 B", always exact: for flags, tooltips and columns that sum up.
std::string format_exact_bytes(int64_t bytes);
/// "1,980".
std::string format_count(int64_t count);
/// "0 ns", "850 ns", "16.1 µs", "3.20 ms", "1.50 s": three digits.
std::string format_time(int64_t t_ns);
/// 1, 2 or 5 times a power of ten, the smallest from `least` on; at least 1: how far a ruler's ticks, or an
/// axis' lines, stand apart.
double round_step(double least);
/// A share of 1 as whole percents, the sign left to the sentence: "0", "< 1" (never 0 for a share that is
/// not), "41".
std::string format_percent(double share);
/// A number of a tensor with at most `digits` significant digits and no trailing zeros: "59", "-0.25",
/// "1e-05".
std::string format_number(float value, int digits = 3);
/// "[0, 1]"; "(0, 1)".
std::string format_list(const std::vector<int64_t>& values);
/// "[0, 1, 4]"; of more than eight ranks "[0–127] (128)" (core/base/rank_set.h).
std::string format_ranks(const std::vector<int64_t>& ranks);
std::string format_tuple(const std::vector<int64_t>& values);

}  // namespace meshscope::view
