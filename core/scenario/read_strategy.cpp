#include "core/scenario/readers.h"

#include <algorithm>
#include <string>

#include "core/mesh/roles.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {
namespace {

using parallel::Declaration;
using parallel::StrategyKey;

void read_key(const Section& section, const StrategyKey& key, Scenario& s) {
    parallel::StrategyOptions& options = s.parallel;
    if (const auto* integer = std::get_if<StrategyKey::Integer>(&key.value)) {
        const auto value = section.integer(key.name, {integer->least, integer->most});
        if (value) integer->put(options, *value);
    } else if (const auto* number = std::get_if<StrategyKey::Number>(&key.value)) {
        const auto value = section.number(key.name, {number->least, number->most, number->least_itself});
        if (value) number->put(options, *value);
    } else if (const auto* flag = std::get_if<StrategyKey::Flag>(&key.value)) {
        if (const auto value = section.boolean(key.name)) flag->put(options, *value);
    } else if (const auto* word = std::get_if<StrategyKey::Word>(&key.value)) {
        if (const auto value = section.word(key.name, word->words))
            word->put(options,
                      static_cast<std::size_t>(std::ranges::find(word->words, *value) - word->words.begin()));
    }
}

bool takes(const Declaration& strategy, std::string_view key) {
    return std::ranges::any_of(strategy.keys, [&](const StrategyKey& each) { return each.name == key; });
}

void refuse_foreign_keys(const Section& section, const Declaration& strategy) {
    for (const StrategyKey& key : strategy_keys()) {
        if (!section.has(key.name) || takes(strategy, key.name)) continue;
        std::string known;
        for (const Declaration* const each : parallel::strategies())
            if (takes(*each, key.name)) known += (known.empty() ? "" : "\", \"") + std::string(each->word);
        section.report_key(key.name, {"scenario.key_needs_strategy",
                                      {{"key", section.full(key.name)}, {"strategy", known}}});
    }
}

}  // namespace

void read_strategy_keys(const Section& parallel, Scenario& s) {
    for (const StrategyKey& key : strategy_keys()) read_key(parallel, key, s);
}

void refuse_strategy(const Section& root, const Section& parallel, bool mesh_known, const Scenario& s) {
    const Declaration& strategy = parallel::declaration(s.parallel.data);
    refuse_foreign_keys(parallel, strategy);
    for (const StrategyKey& key : strategy.keys)
        if (key.required()) parallel.require(key.name);
    const auto report = [&](const std::vector<parallel::Refusal>& refusals) {
        for (const parallel::Refusal& refusal : refusals)
            if (parallel.sure(refusal.key)) parallel.report(refusal.key, refusal.message, refusal.hint);
    };
    if (strategy.unsaved != nullptr && root.section("checkpoint").present())
        report(strategy.unsaved(s.parallel));
    if (strategy.refusals == nullptr || !mesh_known) return;
    const std::unique_ptr<nn::Model> model = model_is_known(s) ? nn::make_model(s.model) : nullptr;
    const parallel::StrategyUse use{mesh::roles_of(s.mesh_names).cp.has_value(), model.get()};
    report(strategy.refusals(s.parallel, use));
}

}  // namespace meshscope::scenario
