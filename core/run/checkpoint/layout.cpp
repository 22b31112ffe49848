#include "core/run/checkpoint/layout.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace meshscope::run::checkpoint {
namespace {

/// Elements below one index of `dim`.
int64_t below(const Shape& shape, std::size_t dim) {
    int64_t elements = 1;
    for (std::size_t d = dim + 1; d < shape.size(); ++d) elements *= shape[d];
    return elements;
}

/// Cuts a range of an array's elements into boxes.
class RangeCutter {
  public:
    explicit RangeCutter(const Shape& shape) : shape_(shape) {}

    std::vector<Chunk> cut(int64_t first, int64_t n) {
        append(0, first, n);
        return std::move(chunks_);
    }

  private:
    /// Appends the boxes of [first, first + n) inside the rows of `dim`.
    void append(std::size_t dim, int64_t first, int64_t n) {
        if (n == 0) return;
        const int64_t row = below(shape_, dim);
        int64_t index = first / row;
        if (const int64_t skipped = first % row; skipped > 0) {
            const int64_t head = std::min(n, row - skipped);
            append_part_of_row(dim, index++, skipped, head);
            n -= head;
        }
        if (const int64_t rows = n / row; rows > 0) {
            append_whole_rows(dim, index, rows);
            index += rows;
        }
        if (n % row > 0) append_part_of_row(dim, index, 0, n % row);
    }

    void append_whole_rows(std::size_t dim, int64_t index, int64_t rows) {
        Chunk chunk{at_, Shape(at_.size(), 1)};
        chunk.offsets.resize(shape_.size(), 0);
        chunk.sizes.push_back(rows);
        for (std::size_t d = dim + 1; d < shape_.size(); ++d) chunk.sizes.push_back(shape_[d]);
        chunk.offsets[dim] = index;
        chunks_.push_back(std::move(chunk));
    }

    void append_part_of_row(std::size_t dim, int64_t index, int64_t first, int64_t n) {
        at_.push_back(index);
        append(dim + 1, first, n);
        at_.pop_back();
    }

    const Shape& shape_;
    Shape at_;  ///< the indices of the dims above
    std::vector<Chunk> chunks_;
};

/// Takes numbers from the front of the words. They were encoded by this program in this run.
class Reader {
  public:
    explicit Reader(std::span<const int64_t> words) : words_(words) {}
    int64_t next() { return words_[at_++]; }
    std::vector<int64_t> list() {
        std::vector<int64_t> numbers(static_cast<std::size_t>(next()));
        for (int64_t& number : numbers) number = next();
        return numbers;
    }
    std::vector<double> doubles() {
        std::vector<double> numbers;
        for (const int64_t word : list()) numbers.push_back(std::bit_cast<double>(word));
        return numbers;
    }

  private:
    std::span<const int64_t> words_;
    std::size_t at_ = 0;
};

void append(std::vector<int64_t>& words, std::span<const int64_t> list) {
    words.push_back(static_cast<int64_t>(list.size()));
    words.insert(words.end(), list.begin(), list.end());
}

void append(std::vector<int64_t>& words, std::span<const double> list) {
    words.push_back(static_cast<int64_t>(list.size()));
    for (const double number : list) words.push_back(std::bit_cast<int64_t>(number));
}

}  // namespace

int64_t Chunk::n_elements() const {
    return tensor::count(sizes);
}

std::vector<Chunk> chunks_of_range(const Shape& shape, int64_t first, int64_t n) {
    if (n > 0) return RangeCutter(shape).cut(first, n);
    Chunk empty{Shape(shape.size(), 0), shape};
    empty.sizes.at(0) = 0;
    if (const int64_t row = below(shape, 0); row > 0) empty.offsets[0] = first / row;
    return {empty};
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

int64_t Piece::n_elements() const {
    int64_t elements = 0;
    for (const Chunk& chunk : chunks) elements += chunk.n_elements();
    return elements;
}

std::vector<int64_t> encode(const Layout& layout) {
    std::vector<int64_t> words;
    append(words, layout.losses);
    append(words, layout.grad_norms);
    append(words, layout.strategy_state);
    words.push_back(layout.finite ? 1 : 0);
    words.push_back(static_cast<int64_t>(layout.pieces.size()));
    for (const Piece& piece : layout.pieces) {
        words.push_back(piece.parameter);
        words.push_back(piece.steps);
        words.push_back(piece.copy);
        words.push_back(static_cast<int64_t>(piece.chunks.size()));
        for (const Chunk& chunk : piece.chunks) {
            append(words, chunk.offsets);
            append(words, chunk.sizes);
        }
    }
    return words;
}

Layout decode(std::span<const int64_t> words) {
    Reader reader(words);
    Layout layout;
    layout.losses = reader.doubles();
    layout.grad_norms = reader.doubles();
    layout.strategy_state = reader.list();
    layout.finite = reader.next() != 0;
    layout.pieces.resize(static_cast<std::size_t>(reader.next()));
    for (Piece& piece : layout.pieces) {
        piece.parameter = static_cast<int32_t>(reader.next());
        piece.steps = reader.next();
        piece.copy = static_cast<int32_t>(reader.next());
        piece.chunks.resize(static_cast<std::size_t>(reader.next()));
        for (Chunk& chunk : piece.chunks) {
            chunk.offsets = reader.list();
            chunk.sizes = reader.list();
        }
    }
    return layout;
}

}  // namespace meshscope::run::checkpoint
