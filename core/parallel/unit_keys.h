#pragma once

#include <array>

#include "core/parallel/declaration.h"

namespace meshscope::parallel {

/// What [parallel] units means: false where it is no array; every module must be one of the model's, each
/// once. Nothing is read where the model is not known.
bool read_units(const KeyValue& value, StrategyOptions& options, const StrategyUse& use,
                std::vector<Refusal>& found);

/// What to say of the modules a model has.
Message modules_hint(const nn::ModelSpec& spec);

/// Refuses wrap and wrap_min_elements where they do not go together, with units, or with a parameter that
/// two modules share.
void refuse_wrap(const StrategyOptions& options, const StrategyUse& use, std::vector<Refusal>& found);

/// Keys of the strategies that gather a unit's parameters around its work.
inline constexpr StrategyKey kUnitsKey{
    "units", "the model's layers",
    StrategyKey::Several{"array of strings or of arrays of strings", read_units}};

inline constexpr std::array<std::string_view, 2> kWraps{"layers", "size"};
inline constexpr StrategyKey kWrapKey{
    "wrap", "\"layers\"",
    StrategyKey::Word{kWraps, [](StrategyOptions& o, std::size_t place) { o.wrap_by_size = place == 1; }}};
inline constexpr StrategyKey kWrapMinElementsKey{
    "wrap_min_elements", "(none)",
    StrategyKey::Integer{1, int64_t{1} << 40,
                         [](StrategyOptions& o, int64_t n) { o.wrap_min_elements = n; }}};

inline constexpr std::array<std::string_view, 3> kPrefetches{"none", "pre", "post"};  ///< BackwardPrefetch's
/// FSDP1's: true means "pre".
inline constexpr StrategyKey kBackwardPrefetchKey{
    "backward_prefetch", "true",
    StrategyKey::FlagOr{{[](StrategyOptions& o, bool on) {
                            o.fsdp1.backward_prefetch = on ? BackwardPrefetch::pre : BackwardPrefetch::none;
                        }},
                        {},
                        StrategyKey::Word{kPrefetches, [](StrategyOptions& o, std::size_t place) {
                                              o.fsdp1.backward_prefetch =
                                                  static_cast<BackwardPrefetch>(place);
                                          }}}};
inline constexpr StrategyKey kForwardPrefetchKey{
    "forward_prefetch", "false",
    StrategyKey::Flag{[](StrategyOptions& o, bool on) { o.fsdp1.forward_prefetch = on; }}};

}  // namespace meshscope::parallel
