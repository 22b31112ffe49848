#include "core/run/checkpoint/chunk.h"

#include <algorithm>

namespace meshscope::run::checkpoint {
namespace {

/// Elements below one index of `dim`.
int64_t below(const Shape& shape, std::size_t dim) {
    int64_t elements = 1;
    for (std::size_t d = dim + 1; d < shape.size(); ++d) elements *= shape[d];
    return elements;
}

/// Appends the boxes of [first, first + n) inside the rows of `dim`; `at` holds the indices of the dims
/// above.
void append_range(const Shape& shape, std::size_t dim, int64_t first, int64_t n, Shape& at,
                  std::vector<Chunk>& chunks) {
    if (n == 0) return;
    const int64_t row = below(shape, dim);
    const auto whole_rows = [&](int64_t index, int64_t rows) {
        Chunk chunk{at, Shape(at.size(), 1)};
        chunk.offsets.resize(shape.size(), 0);
        chunk.sizes.push_back(rows);
        for (std::size_t d = dim + 1; d < shape.size(); ++d) chunk.sizes.push_back(shape[d]);
        chunk.offsets[dim] = index;
        chunks.push_back(std::move(chunk));
    };
    const auto part_of_row = [&](int64_t index, int64_t begin, int64_t elements) {
        at.push_back(index);
        append_range(shape, dim + 1, begin, elements, at, chunks);
        at.pop_back();
    };
    int64_t index = first / row;
    if (const int64_t skipped = first % row; skipped > 0) {
        const int64_t head = std::min(n, row - skipped);
        part_of_row(index++, skipped, head);
        n -= head;
    }
    if (const int64_t rows = n / row; rows > 0) {
        whole_rows(index, rows);
        index += rows;
    }
    if (n % row > 0) part_of_row(index, 0, n % row);
}

}  // namespace

int64_t Chunk::n_elements() const {
    return tensor::count(sizes);
}

std::vector<Chunk> chunks_of_range(const Shape& shape, int64_t first, int64_t n) {
    std::vector<Chunk> chunks;
    if (n == 0) {
        Chunk empty{Shape(shape.size(), 0), shape};
        empty.sizes.at(0) = 0;
        if (const int64_t row = below(shape, 0); row > 0) empty.offsets[0] = first / row;
        return {empty};
    }
    Shape at;
    append_range(shape, 0, first, n, at, chunks);
    return chunks;
}

std::vector<Chunk> chunks_of(const parallel::LocalParameter& local) {
    const nn::Parameter& parameter = *local.parameter;
    std::vector<Chunk> chunks =
        chunks_of_range(parameter.shape, local.first_element, local.value.n_elements());
    if (parameter.box.cut())
        for (Chunk& chunk : chunks)
            chunk.offsets[static_cast<std::size_t>(parameter.box.tensor_dim)] += parameter.box.first;
    return chunks;
}

int64_t copy_common(const Chunk& from, std::span<const float> from_numbers, const Chunk& to,
                    std::span<float> to_numbers) {
    const std::size_t ndim = from.sizes.size();
    Shape begin(ndim), size(ndim);
    int64_t common = 1;
    for (std::size_t d = 0; d < ndim; ++d) {
        begin[d] = std::max(from.offsets[d], to.offsets[d]);
        const int64_t end = std::min(from.offsets[d] + from.sizes[d], to.offsets[d] + to.sizes[d]);
        size[d] = std::max<int64_t>(0, end - begin[d]);
        common *= size[d];
    }
    if (common == 0) return 0;
    const auto place = [&](const Chunk& chunk, const Shape& index) {
        int64_t at = 0;
        for (std::size_t d = 0; d < ndim; ++d) at = at * chunk.sizes[d] + index[d] - chunk.offsets[d];
        return static_cast<std::size_t>(at);
    };
    const auto run = static_cast<std::size_t>(size.back());
    Shape index = begin;
    for (int64_t done = 0; done < common; done += size.back()) {
        std::ranges::copy(from_numbers.subspan(place(from, index), run),
                          to_numbers.subspan(place(to, index), run).begin());
        for (std::size_t d = ndim - 1; d-- > 0;) {  // the next row: the dims above the last, counted up
            if (++index[d] < begin[d] + size[d]) break;
            index[d] = begin[d];
        }
    }
    return common;
}

bool inside(const Chunk& chunk, const Shape& shape) {
    if (chunk.offsets.size() != shape.size() || chunk.sizes.size() != shape.size()) return false;
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (chunk.offsets[d] < 0 || chunk.sizes[d] < 0 || chunk.offsets[d] > shape[d] ||
            chunk.sizes[d] > shape[d] - chunk.offsets[d])
            return false;
    return true;
}

}  // namespace meshscope::run::checkpoint
