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

/// Throws unless the spans hold `n` samples.
template <class T>
void check_samples(const MadeData& data, std::string_view kind, std::size_t n, std::span<T> x,
                   std::span<T> y) {
    if (data.kind != kind) throw InvalidArgument({"data.unknown_kind", {{"kind", data.kind}}});
    if (x.size() == n * static_cast<std::size_t>(data.in) &&
        y.size() == n * static_cast<std::size_t>(data.out))
        return;
    const auto rows = static_cast<int64_t>(n);
    throw InvalidArgument({"data.rows", {{"first", int64_t{0}}, {"n", rows}, {"global_batch", rows}}});
}

}  // namespace

std::vector<int64_t> batch_samples(const MadeData& data, int64_t step, int64_t global_batch,
                                   int64_t first_row, int64_t rows) {
    if (step < 0 || data.samples < 0 || first_row < 0 || rows < 0 || first_row > global_batch - rows)
        throw InvalidArgument(
            {"data.rows", {{"first", first_row}, {"n", rows}, {"global_batch", global_batch}}});
    std::vector<int64_t> samples;
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t sample = step * global_batch + first_row + r;
        samples.push_back(data.samples > 0 ? sample % data.samples : sample);
    }
    return samples;
}

void make_samples(const MadeData& data, std::span<const int64_t> samples, std::span<float> x,
                  std::span<float> y) {
    check_samples(data, "regression", samples.size(), x, y);
    const auto in = static_cast<std::size_t>(data.in);
    const auto out = static_cast<std::size_t>(data.out);
    std::vector<double> teacher(in * out);
    for (std::size_t i = 0; i < teacher.size(); ++i)
        teacher[i] = normal(data.seed, kStreamTeacher, i) / std::sqrt(static_cast<double>(data.in));

    for (std::size_t r = 0; r < samples.size(); ++r) {
        const auto sample = static_cast<uint64_t>(samples[r]);
        for (std::size_t i = 0; i < in; ++i)
            x[r * in + i] = static_cast<float>(normal(data.seed, kStreamX, sample * in + i));
        for (std::size_t o = 0; o < out; ++o) {
            double sum = 0.0;
            for (std::size_t i = 0; i < in; ++i) sum += teacher[o * in + i] * x[r * in + i];
            y[r * out + o] = static_cast<float>(sum);
        }
    }
}

void make_samples(const MadeData& data, std::span<const int64_t> samples, std::span<int64_t> x,
                  std::span<int64_t> y) {
    check_samples(data, "tokens", samples.size(), x, y);
    const auto tokens = static_cast<std::size_t>(data.in);
    for (std::size_t r = 0; r < samples.size(); ++r) {
        const auto sample = static_cast<uint64_t>(samples[r]);
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
