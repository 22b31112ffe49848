#include "core/parallel/unit_keys.h"

#include <map>

#include "core/base/error.h"
#include "core/parallel/units.h"

namespace meshscope::parallel {
namespace {

using Names = std::vector<std::string>;

/// One unit: a module's name, or a list of them.
std::optional<Names> unit_names(const KeyValue& value) {
    if (const auto* name = value.as<std::string>()) return Names{*name};
    const auto* list = value.as<std::vector<KeyValue>>();
    if (list == nullptr || list->empty()) return std::nullopt;
    Names names;
    for (const KeyValue& element : *list) {
        const auto* name = element.as<std::string>();
        if (name == nullptr) return std::nullopt;
        names.push_back(*name);
    }
    return names;
}

/// fully_shard drops from its list what lies inside another module of it; said in one unit, both are a
/// mistake.
void refuse_nested(std::size_t at, const Names& unit, std::vector<Refusal>& found) {
    for (const std::string& inner : unit)
        for (const std::string& outer : unit)
            if (inner.starts_with(outer + "."))
                found.push_back({.key = "units",
                                 .message = {"scenario.nested_unit", {{"inner", inner}, {"outer", outer}}},
                                 .hint = {"scenario.hint.nested_unit", {{"inner", inner}, {"outer", outer}}},
                                 .element = at});
}

/// A module that becomes a unit by its size must not hold a parameter that another module shares.
void refuse_shared(const StrategyOptions& options, const StrategyUse& use, std::vector<Refusal>& found) {
    const int64_t least = options.unit_min_elements();
    nn::Model* const model = least > 0 ? use.model() : nullptr;
    if (model == nullptr) return;
    try {
        plan_units(*model, units_by_size(*model, least), NoUnits::root_only);
    } catch (const InvalidArgument& error) {
        // Only the embedding and the head share one.
        found.push_back(
            {.key = "wrap_min_elements",
             .message = error.message(),
             .offers = {{{{{"parallel.wrap_min_elements", use.spec.padded_vocab() * use.spec.dim + 1}}}},
                        {{{{"parallel.wrap", std::string("layers")}, {"parallel.wrap_min_elements", {}}}}}}});
    }
}

}  // namespace

Message modules_hint(const nn::ModelSpec& spec) {
    const char* id = spec.kind == "toy"   ? "scenario.hint.toy_modules"
                     : spec.kind == "mlp" ? "scenario.hint.mlp_modules"
                                          : "scenario.hint.transformer_modules";
    return {id, {{"last", spec.layers - 1}}};
}

bool read_units(const KeyValue& value, StrategyOptions& options, const StrategyUse& use,
                std::vector<Refusal>& found) {
    nn::Model* const model = use.model();
    if (model == nullptr) return true;
    const auto* list = value.as<std::vector<KeyValue>>();
    if (list == nullptr) return false;
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const auto refuse = [&](Message message, Message hint = {}) {
            found.push_back(
                {.key = "units", .message = std::move(message), .hint = std::move(hint), .element = i});
        };
        const std::optional<Names> unit = unit_names((*list)[i]);
        if (!unit) {
            refuse({"scenario.bad_unit", {}});
            continue;
        }
        for (const std::string& name : *unit) {
            if (name.empty() || model->find(name) == nullptr)
                refuse({"scenario.unknown_module", {{"name", name}, {"kind", use.spec.kind}}},
                       modules_hint(use.spec));
            else if (!seen.emplace(name, i).second)
                refuse({"scenario.module_twice", {{"name", name}}});
        }
        refuse_nested(i, *unit, found);
        options.units.push_back(*unit);
    }
    try {
        plan_units(*model, options.units);
    } catch (const InvalidArgument& error) {
        if (error.message().id == "parallel.shared_parameter") found.push_back({"units", error.message()});
    }
    return true;
}

void refuse_wrap(const StrategyOptions& options, const StrategyUse& use, std::vector<Refusal>& found) {
    if (use.has("wrap") && use.has("units"))
        found.push_back(
            {.key = "wrap",
             .message = {"scenario.keys_exclude",
                         {{"key", std::string("parallel.wrap")}, {"other", std::string("parallel.units")}}},
             .of = Refusal::Of::key});
    if (!use.sure("wrap")) return;
    if (!options.wrap_by_size) {
        if (use.has("wrap_min_elements"))
            found.push_back({.key = "wrap_min_elements",
                             .message = {"scenario.wrap_min_without_size", {}},
                             .of = Refusal::Of::key});
        return;
    }
    if (use.has("wrap_min_elements"))
        refuse_shared(options, use, found);
    else
        found.push_back({.key = "wrap_min_elements", .message = {}, .of = Refusal::Of::absence});
}

}  // namespace meshscope::parallel
