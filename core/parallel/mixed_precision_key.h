#pragma once

#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/parallel/declaration.h"

namespace meshscope::parallel {

inline constexpr std::array<std::string_view, 2> kParamTypes{"float32", "bfloat16"};
inline constexpr std::array<std::string_view, 3> kReduceTypes{"float32", "bfloat16", "float16"};

/// Reduces in the parameters' own float32 unless told another, as FSDP2 does (PyTorch 2.15).
inline constexpr StrategyKey kPrecisionKeys[] = {
    {"param", "\"float32\"",
     StrategyKey::Word{kParamTypes,
                       [](StrategyOptions& o, std::size_t place) {
                           o.precision.param = *parse_dtype(kParamTypes.at(place));
                       }}},
    {"reduce", "by strategy",
     StrategyKey::Word{kReduceTypes,
                       [](StrategyOptions& o, std::size_t place) {
                           o.precision.reduce = *parse_dtype(kReduceTypes.at(place));
                       }}},
};

inline constexpr StrategyKey kMixedPrecisionKey{"mixed_precision", "(none)", StrategyKey::Table{[] {
                                                    return std::span<const StrategyKey>(kPrecisionKeys);
                                                }}};

/// What mixed precision of whole parameters does not go together with: these other keys
/// ("scenario.precision_with" {key}), and batch norm ("scenario.precision_batch_norm" {key}).
void refuse_precision(const StrategyUse& use, std::initializer_list<std::string_view> others,
                      std::vector<Refusal>& found);

}  // namespace meshscope::parallel
