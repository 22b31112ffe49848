#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace meshscope::data {

/// A data set that is computed, not stored: sample i is a pure function of (seed, i), so each rank makes its
/// own rows of any batch and nothing is sent or kept.
///
/// Kind "regression": x is standard normal; y = T·x without noise, where the teacher T (out, in) is standard
/// normal over √in, so y has variance 1 too. A linear model can learn it; the loss of the right T is 0.
///
/// Kind "tokens": every token has one successor, drawn from the seed; a sample is a walk of in + 1 tokens, in
/// which three of four tokens are followed by their successor and the others by any token. x is the walk
/// without its last token, y without its first. What a model can reach is known: a mean cross-entropy of
/// about 0.82 + 0.25·ln(vocab) nats for a large vocabulary.
struct MadeData {
    std::string kind = "regression";  ///< regression, tokens
    uint64_t seed = 0;
    int64_t samples = 0;  ///< the data set's size; 0 = endless, no sample is seen twice
    int64_t in = 0;       ///< numbers (or tokens) in one x
    int64_t out = 0;      ///< numbers in one y; tokens: as many as in x
    int64_t vocab = 0;    ///< tokens: they are 0 … vocab-1
};

/// Which samples rows [first_row, first_row + rows) of the global batch of `step` are: row r is sample
/// step·global_batch + r, modulo `samples`. Throws InvalidArgument ("data.rows": rows outside the batch).
std::vector<int64_t> batch_samples(const MadeData& data, int64_t step, int64_t global_batch,
                                   int64_t first_row, int64_t rows);

/// The samples of these numbers (each 0 or more), in this order, for kind "regression": x (n, in) and y (n,
/// out), row-major. Cost: n·in·(out + one Philox block), and out·in blocks for the teacher. Throws
/// InvalidArgument ("data.unknown_kind"; "data.rows": spans of the wrong size).
void make_samples(const MadeData& data, std::span<const int64_t> samples, std::span<float> x,
                  std::span<float> y);

/// The same for kind "tokens": x and y (n, in). Cost: two Philox blocks a token.
void make_samples(const MadeData& data, std::span<const int64_t> samples, std::span<int64_t> x,
                  std::span<int64_t> y);

}  // namespace meshscope::data
