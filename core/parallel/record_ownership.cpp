#include "core/parallel/record_ownership.h"

#include <algorithm>

#include "core/parallel/tensor/placement.h"

namespace meshscope::parallel {
namespace {

/// Numbers a row: the product of the dims from `dim` on.
int64_t count_from(const nn::Shape& shape, std::size_t dim) {
    int64_t n = 1;
    for (std::size_t d = dim; d < shape.size(); ++d) n *= shape[d];
    return n;
}

/// A run of the parameter with its array and box filled in.
trace::ParameterRun run_of(const nn::Parameter& parameter) {
    const nn::Shape& whole = whole_shape(parameter);
    const nn::Box& box = parameter.box;
    trace::ParameterRun run;
    run.rows = whole.empty() ? 1 : whole[0];
    run.columns = count_from(whole, 1);
    run.n_rows = parameter.shape.empty() ? 1 : parameter.shape[0];
    run.n_columns = count_from(parameter.shape, 1);
    if (box.tensor_dim == 0) run.first_row = box.first;
    if (box.tensor_dim == 1) run.first_column = box.first * count_from(whole, 2);
    return run;
}

void keep_gap(const RankContext& context, std::string_view unit, int64_t first_in_shard, int64_t end) {
    if (end <= first_in_shard) return;
    trace::ParameterRun run;
    run.padding = 1;
    run.elements = end - first_in_shard;
    run.first_in_shard = first_in_shard;
    context.recorder->keep_parameter("", unit, run);
}

}  // namespace

void record_numbers(const RankContext& context, std::string_view unit, const nn::Parameter& parameter,
                    int64_t first, int64_t elements, int64_t first_in_shard, bool updated) {
    if (!context.recorder) return;
    trace::ParameterRun run = run_of(parameter);
    run.updated = updated && !parameter.frozen ? 1 : 0;
    run.first = first;
    run.elements = elements;
    run.first_in_shard = first_in_shard;
    context.recorder->keep_parameter(parameter.name, unit, run);
}

void record_padding(const RankContext& context, std::string_view unit, const nn::Parameter& parameter,
                    int64_t first, int64_t elements, int64_t first_in_shard) {
    if (!context.recorder || elements == 0) return;
    trace::ParameterRun run = run_of(parameter);
    run.padding = 1;
    run.first = first;
    run.elements = elements;
    run.first_in_shard = first_in_shard;
    context.recorder->keep_parameter(parameter.name, unit, run);
}

void record_flat_shard(const RankContext& context, std::string_view unit,
                       std::span<nn::Parameter* const> parameters, const FlatLayout& layout, int64_t rank) {
    if (!context.recorder) return;
    int64_t at = 0;
    for (const FlatLayout::Piece& piece : layout.pieces(rank)) {
        keep_gap(context, unit, at, piece.first_in_shard);
        record_numbers(context, unit, *parameters[piece.parameter], piece.first_in_parameter, piece.elements,
                       piece.first_in_shard);
        at = piece.first_in_shard + piece.elements;
    }
    keep_gap(context, unit, at, layout.shard_elements());
}

void record_flat_whole(const RankContext& context, std::string_view unit,
                       std::span<nn::Parameter* const> parameters, const FlatLayout& layout, int64_t rank) {
    if (!context.recorder) return;
    // Each parameter in up to three runs: before, in and behind what this rank updates.
    const int64_t begin = rank * layout.shard_elements(), end = begin + layout.shard_elements();
    int64_t at = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const int64_t first = layout.first[i], last = first + layout.sizes[i];
        keep_gap(context, unit, at, first);
        const int64_t from = std::clamp(begin, first, last), to = std::clamp(end, first, last);
        const auto keep = [&](int64_t a, int64_t b, bool updated) {
            if (a < b) record_numbers(context, unit, *parameters[i], a - first, b - a, a, updated);
        };
        keep(first, from, false);
        keep(from, to, true);
        keep(to, last, false);
        at = last;
    }
    keep_gap(context, unit, at, layout.elements);
}

void record_whole(const RankContext& context, const nn::Model& model,
                  const std::function<bool(std::size_t)>& updated) {
    if (!context.recorder) return;
    for (std::size_t i = 0; i < model.all_parameters().size(); ++i) {
        const nn::Parameter& parameter = *model.all_parameters()[i];
        record_numbers(context, "", parameter, 0, tensor::count(parameter.shape), 0, !updated || updated(i));
    }
}

}  // namespace meshscope::parallel
