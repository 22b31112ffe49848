#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "core/parallel/declaration.h"

namespace meshscope::parallel {

#define MESHSCOPE_DATA_STRATEGY(id, declared) extern const Declaration declared;
#include "core/parallel/strategies.def"
#undef MESHSCOPE_DATA_STRATEGY

namespace {

constexpr auto kStrategies = std::to_array<const Declaration*>({
#define MESHSCOPE_DATA_STRATEGY(id, declared) &declared,
#include "core/parallel/strategies.def"
#undef MESHSCOPE_DATA_STRATEGY
});

}  // namespace

std::span<const Declaration* const> strategies() {
    return kStrategies;
}

std::span<const StrategyKey> strategy_keys() {
    static const std::vector<StrategyKey> kDeclared = [] {
        std::vector<StrategyKey> declared;
        for (const Declaration* const strategy : kStrategies)
            for (const StrategyKey& key : strategy->keys)
                if (std::ranges::find(declared, key.name, &StrategyKey::name) == declared.end())
                    declared.push_back(key);
        return declared;
    }();
    return kDeclared;
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

namespace {

/// Which of TOML's types a key's values have, in the order of kTypes.
constexpr std::array<std::string_view, 5> kTypes{"boolean", "integer", "number", "string", "table"};
using Types = std::array<bool, kTypes.size()>;

Types types_of(const StrategyKey& key) {
    Types types{};
    const auto* either = std::get_if<StrategyKey::FlagOr>(&key.value);
    types[0] = either != nullptr || std::holds_alternative<StrategyKey::Flag>(key.value);
    types[1] =
        (either != nullptr && either->number) || std::holds_alternative<StrategyKey::Integer>(key.value);
    types[2] = std::holds_alternative<StrategyKey::Number>(key.value);
    types[3] = (either != nullptr && either->word) || std::holds_alternative<StrategyKey::Word>(key.value);
    types[4] = std::holds_alternative<StrategyKey::Table>(key.value);
    return types;
}

}  // namespace

std::string type_of(std::span<const StrategyKey* const> declared) {
    Types all{};
    for (const StrategyKey* const key : declared) {
        if (const auto* several = std::get_if<StrategyKey::Several>(&key->value))
            return std::string(several->type);
        const Types types = types_of(*key);
        std::ranges::transform(all, types, all.begin(), std::logical_or<>());
    }
    std::string text;
    auto left = std::ranges::count(all, true);
    for (std::size_t i = 0; i < kTypes.size(); ++i)
        if (all.at(i)) {
            text += kTypes.at(i);
            text += --left > 1 ? ", " : left == 1 ? " or " : "";
        }
    return text;
}

std::string StrategyKey::type() const {
    const StrategyKey* const self = this;
    return type_of({&self, 1});
}

mesh::Shape StrategyUse::data_sizes() const {
    mesh::Shape sizes;
    for (const std::size_t d : mesh::roles_of(names).data)
        if (d < shape.size()) sizes.push_back(shape[d]);  // a wrong number of names was reported
    return sizes;
}

std::optional<std::size_t> StrategyUse::dim(mesh::Role role) const {
    const auto d = mesh::roles_of(names).of(role);
    return d && *d < shape.size() ? d : std::nullopt;  // a wrong number of names was reported
}

std::vector<std::pair<std::string_view, int64_t>> StrategyUse::head_counts() const {
    std::vector<std::pair<std::string_view, int64_t>> counts;
    if (sure("heads", "model")) counts.emplace_back("heads", spec.heads);
    const bool others = spec.kv_heads > 0 && spec.kv_heads != spec.heads;
    if (others && sure("kv_heads", "model")) counts.emplace_back("kv_heads", spec.kv_heads);
    return counts;
}

}  // namespace meshscope::parallel
