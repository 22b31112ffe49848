#include <algorithm>
#include <array>

#include "core/parallel/declaration.h"

namespace meshscope::parallel {

// Each stands at the end of its room's main file.
extern const Declaration kNone, kDdp, kFsdp2, kFsdp1, kZero1, kZero2, kZero3, kDataParallel, kLocalSgd, kDiloco;

namespace {

constexpr auto kStrategies = std::to_array<const Declaration*>(
    {&kNone, &kDdp, &kFsdp2, &kFsdp1, &kZero1, &kZero2, &kZero3, &kDataParallel, &kLocalSgd, &kDiloco});

}  // namespace

std::span<const Declaration* const> strategies() {
    return kStrategies;
}

const Declaration& declaration(DataStrategy strategy) {
    return *kStrategies.at(static_cast<std::size_t>(strategy));
}

const Declaration* find_declaration(std::string_view word) {
    const auto found = std::ranges::find_if(kStrategies, [&](const Declaration* each) {
        return each->word == word || (!word.empty() && each->hybrid_word == word);
    });
    return found == kStrategies.end() ? nullptr : *found;
}

const StrategyKey* Declaration::key(std::string_view name) const {
    const auto found = std::ranges::find(keys, name, &StrategyKey::name);
    return found == keys.end() ? nullptr : &*found;
}

std::string_view StrategyKey::type() const {
    if (const auto* own = std::get_if<OfItsOwn>(&value)) return own->type;
    constexpr std::array<std::string_view, 4> kTypes{"integer", "number", "boolean", "string"};
    return kTypes.at(value.index());
}

}  // namespace meshscope::parallel
