#include "core/comm/parts.h"

namespace meshscope::comm {

std::vector<Part> chunk_parts(int64_t n, int32_t p) {
    std::vector<Part> parts;
    parts.reserve(static_cast<std::size_t>(p));
    for (int32_t c = 0; c < p; ++c) parts.push_back(chunk_part(n, p, c));
    return parts;
}

void set_even_parts(std::vector<Part>& parts, int64_t n, int32_t p) {
    parts.clear();
    parts.reserve(static_cast<std::size_t>(p));
    for (int32_t c = 0; c < p; ++c) parts.push_back({c * n, n});
}

void set_parts_of(std::vector<Part>& parts, std::span<const int64_t> counts) {
    parts.clear();
    parts.reserve(counts.size());
    int64_t first = 0;
    for (const int64_t n : counts) {
        parts.push_back({first, n});
        first += n;
    }
}

Part run_of_parts(std::span<const Part> parts, int32_t first, int32_t count) {
    Part run = parts[static_cast<std::size_t>(first)];
    for (const Part& part :
         parts.subspan(static_cast<std::size_t>(first + 1), static_cast<std::size_t>(count - 1)))
        run.elements += part.elements;
    return run;
}

int64_t total(std::span<const Part> parts) {
    int64_t n = 0;
    for (const Part& part : parts) n += part.elements;
    return n;
}

}  // namespace meshscope::comm
