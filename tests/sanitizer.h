#pragma once

namespace meshscope::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// Whether a sanitizer watches this program. What then takes ten times as long and only repeats the same code
/// with more inputs takes a sample of them; the release build takes them all.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitizer = true;
#else
inline constexpr bool kSanitizer = kThreadSanitizer;
#endif

}  // namespace meshscope::test
