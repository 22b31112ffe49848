#include "core/data/made_data.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"

namespace meshscope::data {
namespace {

// Streams of the seed. Parameters draw from the small numbers of another seed; these only keep x and the
// teacher apart.
constexpr uint64_t kStreamX = 0x7800;
constexpr uint64_t kStreamTeacher = 0x7400;
constexpr uint64_t kStreamStart = 0x7401;
constexpr uint64_t kStreamTurn = 0x7402;
constexpr uint64_t kStreamAny = 0x7403;

/// How often a token is followed by its successor instead of by any.
constexpr double kFollows = 0.75;

/// A token of a vocabulary, from (seed, stream, position).
int64_t draw_token(const MadeData& data, uint64_t stream, uint64_t position) {
    const auto token =
        static_cast<int64_t>(uniform(data.seed, stream, position) * static_cast<double>(data.vocab));
    return std::min(token, data.vocab - 1);  // the product may be rounded up to vocab
}

/// Throws unless the rows lie in a batch and the spans hold them.
template <class T>
void check_rows(const MadeData& data, int64_t step, int64_t global_batch, int64_t first_row, int64_t rows,
                std::span<T> x, std::span<T> y) {
    if (step < 0 || data.samples < 0 || first_row < 0 || rows < 0 || first_row > global_batch - rows ||
        static_cast<int64_t>(x.size()) != rows * data.in || static_cast<int64_t>(y.size()) != rows * data.out)
        throw InvalidArgument(
            {"data.rows", {{"first", first_row}, {"n", rows}, {"global_batch", global_batch}}});
}

/// Which of the data set's samples row `row` of a step is.
int64_t sample_of(const MadeData& data, int64_t step, int64_t global_batch, int64_t row) {
    const int64_t sample = step * global_batch + row;
    return data.samples > 0 ? sample % data.samples : sample;
}

}  // namespace

void make_rows(const MadeData& data, int64_t step, int64_t global_batch, int64_t first_row, int64_t rows,
               std::span<float> x, std::span<float> y) {
    if (data.kind != "regression") throw InvalidArgument({"data.unknown_kind", {{"kind", data.kind}}});
    check_rows(data, step, global_batch, first_row, rows, x, y);

    const auto in = static_cast<std::size_t>(data.in);
    const auto out = static_cast<std::size_t>(data.out);
    std::vector<double> teacher(in * out);
    for (std::size_t i = 0; i < teacher.size(); ++i)
        teacher[i] = normal(data.seed, kStreamTeacher, i) / std::sqrt(static_cast<double>(data.in));

    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
        const int64_t sample = sample_of(data, step, global_batch, first_row + static_cast<int64_t>(r));
        for (std::size_t i = 0; i < in; ++i)
            x[r * in + i] =
                static_cast<float>(normal(data.seed, kStreamX, static_cast<uint64_t>(sample) * in + i));
        for (std::size_t o = 0; o < out; ++o) {
            double sum = 0.0;
            for (std::size_t i = 0; i < in; ++i) sum += teacher[o * in + i] * x[r * in + i];
            y[r * out + o] = static_cast<float>(sum);
        }
    }
}

void make_token_rows(const MadeData& data, int64_t step, int64_t global_batch, int64_t first_row,
                     int64_t rows, std::span<int64_t> x, std::span<int64_t> y) {
    if (data.kind != "tokens") throw InvalidArgument({"data.unknown_kind", {{"kind", data.kind}}});
    check_rows(data, step, global_batch, first_row, rows, x, y);
    const auto tokens = static_cast<std::size_t>(data.in);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
        const auto sample =
            static_cast<uint64_t>(sample_of(data, step, global_batch, first_row + static_cast<int64_t>(r)));
        int64_t token = draw_token(data, kStreamStart, sample);
        for (std::size_t t = 0; t < tokens; ++t) {
            const uint64_t place = sample * tokens + t;
            x[r * tokens + t] = token;
            token = uniform(data.seed, kStreamTurn, place) < kFollows
                        ? draw_token(data, kStreamTeacher, static_cast<uint64_t>(token))
                        : draw_token(data, kStreamAny, place);
            y[r * tokens + t] = token;
        }
    }
}

}  // namespace meshscope::data
