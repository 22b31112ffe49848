#include <algorithm>
#include <cstring>

#include "core/comm/copy_bytes.h"

// GCC's sanitizers do not see stores past the cache, so with one all is copied by memcpy.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MESHSCOPE_STORES_PAST_CACHE
#include <emmintrin.h>
#endif

namespace meshscope::comm {

void copy_bytes(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void copy_past_cache(std::byte* to, const std::byte* from, int64_t bytes) {
    if (bytes <= 0 || to == from) return;
#ifdef MESHSCOPE_STORES_PAST_CACHE
    constexpr int64_t kLine = 64;
    const auto above_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
    const int64_t head = std::min(bytes, (kLine - above_line) % kLine);
    copy_bytes(to, from, head);
    int64_t at = head;
    for (; at + kLine <= bytes; at += kLine) {
        const auto* const source = reinterpret_cast<const __m128i*>(from + at);
        auto* const target = reinterpret_cast<__m128i*>(to + at);
        __builtin_prefetch(from + at + 16 * kLine, 0, 0);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);  // the four fill a line, which then leaves as one
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    copy_bytes(to + at, from + at, bytes - at);
    _mm_sfence();  // such stores wait for nobody: now they have come before whatever this rank says next
#else
    copy_bytes(to, from, bytes);
#endif
}

}  // namespace meshscope::comm
