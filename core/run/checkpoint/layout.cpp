#include "core/run/checkpoint/layout.h"

#include <bit>

namespace meshscope::run::checkpoint {
namespace {

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
