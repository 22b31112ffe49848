#include "core/data/made_data.h"

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

}  // namespace

void make_samples(const MadeData& data, std::span<const int64_t> samples, std::span<float> x,
                  std::span<float> y) {
    if (data.kind != "regression") throw InvalidArgument({"data.unknown_kind", {{"kind", data.kind}}});
    const auto in = static_cast<std::size_t>(data.in);
    const auto out = static_cast<std::size_t>(data.out);
    if (x.size() != samples.size() * in || y.size() != samples.size() * out)
        throw InvalidArgument({"data.rows",
                               {{"first", int64_t{0}},
                                {"n", static_cast<int64_t>(samples.size())},
                                {"global_batch", static_cast<int64_t>(samples.size())}}});
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

void make_rows(const MadeData& data, int64_t step, int64_t global_batch, int64_t first_row, int64_t rows,
               std::span<float> x, std::span<float> y) {
    if (data.kind != "regression") throw InvalidArgument({"data.unknown_kind", {{"kind", data.kind}}});
    if (step < 0 || data.samples < 0 || first_row < 0 || rows < 0 || first_row > global_batch - rows ||
        static_cast<int64_t>(x.size()) != rows * data.in || static_cast<int64_t>(y.size()) != rows * data.out)
        throw InvalidArgument(
            {"data.rows", {{"first", first_row}, {"n", rows}, {"global_batch", global_batch}}});
    std::vector<int64_t> samples;
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t sample = step * global_batch + first_row + r;
        samples.push_back(data.samples > 0 ? sample % data.samples : sample);
    }
    make_samples(data, samples, x, y);
}

}  // namespace meshscope::data
