#pragma once

#include <string>

namespace meshscope::cli {

// Estimated figures as plan and validate print them: whatever they are, they are told, and none overflows.

std::string fixed(double value, int digits);
/// "8.2 %", with a sign "+8.2 %"; "–" for what is no number.
std::string percent(double fraction, bool sign = false);
/// Milliseconds with about four digits, 31 years and more in powers of ten.
std::string estimated_ms(double seconds);
/// "1.5 GiB".
std::string estimated_bytes(double bytes);

}  // namespace meshscope::cli
