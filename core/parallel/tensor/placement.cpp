#include "core/parallel/tensor/placement.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/parallel/fsdp2/shard.h"

namespace meshscope::parallel {
namespace {

/// Calls visit(at, in_whole, n) for each run of the part's elements [first, first + count) that is contiguous
/// in the whole: `at` counts from `first`.
template <class Visit>
void for_each_run(const nn::Parameter& parameter, int64_t first, int64_t count, const Visit& visit) {
    if (!parameter.box.cut()) {
        visit(int64_t{0}, first, count);
        return;
    }
    const auto dim = static_cast<std::size_t>(parameter.box.tensor_dim);
    int64_t inner = 1;
    for (std::size_t d = dim + 1; d < parameter.shape.size(); ++d) inner *= parameter.shape[d];
    const int64_t run = parameter.shape[dim] * inner;
    const int64_t stride = parameter.box.whole[dim] * inner;
    for (int64_t at = 0; at < count;) {
        const int64_t row = (first + at) / run;
        const int64_t within = (first + at) % run;
        const int64_t n = std::min(run - within, count - at);
        visit(at, row * stride + parameter.box.first * inner + within, n);
        at += n;
    }
}

}  // namespace

void cut_parameter(nn::Parameter& parameter, int32_t tensor_dim, int64_t ranks, int64_t rank,
                   int64_t copies) {
    if (parameter.box.cut()) throw InvalidArgument({"tp.cut_twice", {{"parameter", parameter.name}}});
    if (tensor_dim < 0 || static_cast<std::size_t>(tensor_dim) >= parameter.shape.size())
        throw InvalidArgument({"tp.no_such_dim",
                               {{"parameter", parameter.name},
                                {"tensor_dim", int64_t{tensor_dim}},
                                {"shape", parameter.shape}}});
    int64_t& size = parameter.shape[static_cast<std::size_t>(tensor_dim)];
    const RowCut cut{size, ranks / copies};
    parameter.box = {parameter.shape, tensor_dim, cut.first_row(rank / copies), copies, rank % copies};
    size = cut.rows_of(rank / copies);
}

const nn::Shape& whole_shape(const nn::Parameter& parameter) {
    return parameter.box.cut() ? parameter.box.whole : parameter.shape;
}

void read_part(const InitialValues& whole, const nn::Parameter& parameter, int64_t first,
               std::span<float> numbers) {
    for_each_run(parameter, first, static_cast<int64_t>(numbers.size()),
                 [&](int64_t at, int64_t in_whole, int64_t n) {
                     whole.read(parameter, in_whole,
                                numbers.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n)));
                 });
}

void write_part(std::span<float> whole, const nn::Parameter& parameter, int64_t first,
                std::span<const float> numbers) {
    for_each_run(
        parameter, first, static_cast<int64_t>(numbers.size()), [&](int64_t at, int64_t in_whole, int64_t n) {
            std::ranges::copy(
                numbers.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n)),
                whole.subspan(static_cast<std::size_t>(in_whole), static_cast<std::size_t>(n)).begin());
        });
}

}  // namespace meshscope::parallel
