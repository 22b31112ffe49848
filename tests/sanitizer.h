#pragma once

#include <cstddef>

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

/// Which cases of nested loops a test takes: all, and under a sanitizer every `one_in`-th, the first of all
/// among them. Let `one_in` have no divisor in common with the innermost loop's length: then every value of
/// it is met.
class Sample {
  public:
    explicit constexpr Sample(std::size_t one_in) : one_in_(kSanitizer ? one_in : 1) {}
    /// To be asked once a case.
    constexpr bool takes() { return n_asked_++ % one_in_ == 0; }

  private:
    std::size_t one_in_;
    std::size_t n_asked_ = 0;
};

}  // namespace meshscope::test
