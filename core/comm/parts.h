#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace meshscope::comm {

/// A piece of a buffer, in elements.
struct Part {
    int64_t first = 0;
    int64_t elements = 0;
};

/// A buffer of n elements cut in p as torch.chunk cuts: k = ceil(n/p) elements each, part c is [c·k, (c+1)·k)
/// as far as the buffer reaches. So the tail parts may be short or empty: n = 5, p = 4 gives 2, 2, 1, 0.
std::vector<Part> chunk_parts(int64_t n, int32_t p);

/// Part c of chunk_parts(n, p).
inline Part chunk_part(int64_t n, int32_t p, int32_t c) {
    const int64_t k = (n + p - 1) / p;
    const int64_t first = std::min(n, c * k);
    return {first, std::min(n, first + k) - first};
}

/// Makes `parts` p parts of n elements each, one after the other, in the memory it has.
void set_even_parts(std::vector<Part>& parts, int64_t n, int32_t p);

/// Makes `parts` those of the given sizes, one after the other, in the memory it has.
void set_parts_of(std::vector<Part>& parts, std::span<const int64_t> counts);

/// `count` parts from part `first` on, which lie side by side, as one.
Part run_of_parts(std::span<const Part> parts, int32_t first, int32_t count);

/// Elements of all parts together.
int64_t total(std::span<const Part> parts);

}  // namespace meshscope::comm
