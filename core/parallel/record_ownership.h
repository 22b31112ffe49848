#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/parallel/fsdp1/flat_layout.h"
#include "core/parallel/strategy.h"

namespace meshscope::parallel {

/// What strategies say in the record of who keeps which numbers (trace::ParameterRun), once, when first
/// values are put in place. Nothing happens where the context has no recorder. `unit` is the name under which
/// the unit's collectives are recorded; places in the shard count from its beginning.

/// Elements [first, first + elements) of what this rank's tp group left of `parameter`. `updated`: by this
/// rank's optimizer, which updates no frozen one.
void record_numbers(const RankContext& context, std::string_view unit, const nn::Parameter& parameter,
                    int64_t first, int64_t elements, int64_t first_in_shard, bool updated = true);

/// Padding of a parameter, as FSDP2 has it: rows that it would have from element `first` on. Nothing where
/// there is none.
void record_padding(const RankContext& context, std::string_view unit, const nn::Parameter& parameter,
                    int64_t first, int64_t elements, int64_t first_in_shard);

/// A rank's shard of a flat layout, its padding between and behind the parameters included.
void record_flat_shard(const RankContext& context, std::string_view unit,
                       std::span<nn::Parameter* const> parameters, const FlatLayout& layout, int64_t rank);

/// A whole flat array of which this rank updates only its shard (ZeRO stages 1 and 2).
void record_flat_whole(const RankContext& context, std::string_view unit,
                       std::span<nn::Parameter* const> parameters, const FlatLayout& layout, int64_t rank);

/// Every parameter of a model whole, each by itself; `updated` tells by index, empty: all.
void record_whole(const RankContext& context, const nn::Model& model,
                  const std::function<bool(std::size_t)>& updated = {});

}  // namespace meshscope::parallel
