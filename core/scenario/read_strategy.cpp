#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/parallel/declaration.h"
#include "core/scenario/readers.h"

namespace meshscope::scenario {
namespace {

using parallel::Declaration;
using parallel::KeyValue;
using parallel::StrategyKey;
using parallel::StrategyOptions;
using parallel::StrategyUse;

KeyValue value_of(const toml::node* node) {
    if (node == nullptr) return {};
    if (const auto* flag = node->as_boolean()) return {flag->get()};
    if (const auto* integer = node->as_integer()) return {integer->get()};
    if (const auto* number = node->as_floating_point()) return {number->get()};
    if (const auto* text = node->as_string()) return {text->get()};
    const toml::array* const array = node->as_array();
    if (array == nullptr) return {};
    std::vector<KeyValue> list;
    for (const toml::node& element : *array) list.push_back(value_of(&element));
    return {std::move(list)};
}

/// A key by its dotted name: the table that it stands in and the rest of the name.
std::pair<Section, std::string> found_in(const Section& table, std::string_view key) {
    const std::size_t dot = key.find('.');
    if (dot == std::string_view::npos) return {table, std::string(key)};
    return {table.section(key.substr(0, dot)), std::string(key.substr(dot + 1))};
}

/// What declared keys must go together with. It keeps `tables` and `s`.
StrategyUse use_of(const Tables& tables, bool mesh_known, const Scenario& s) {
    StrategyUse use{.shape = s.mesh_shape,
                    .names = s.mesh_names,
                    .mesh_known = mesh_known,
                    .spec = s.model,
                    .strategy = &parallel::declaration(s.parallel.data)};
    const auto model = std::make_shared<std::unique_ptr<nn::Model>>();
    use.model = [model, &s] {
        if (!*model && model_is_known(s)) *model = nn::make_model(s.model);
        return model->get();
    };
    use.value_in = [&tables](std::string_view table, std::string_view key) {
        const auto [section, name] = found_in(tables.of(table), key);
        return value_of(section.node(name));
    };
    use.has_in = [&tables](std::string_view table, std::string_view key) {
        const auto [section, name] = found_in(tables.of(table), key);
        return section.has(name);
    };
    use.sure_in = [&tables](std::string_view table, std::string_view key) {
        const auto [section, name] = found_in(tables.of(table), key);
        return section.sure(name);
    };
    return use;
}

/// `sure_only`: not what is refused of keys that are in doubt themselves.
void report(const Tables& tables, const std::vector<parallel::Refusal>& refusals, bool sure_only) {
    using Of = parallel::Refusal::Of;
    for (const parallel::Refusal& refusal : refusals) {
        const auto [section, name] = found_in(tables.of(refusal.table), refusal.key);
        if (sure_only && !section.sure(name)) continue;
        if (refusal.of == Of::absence)
            section.require(name);
        else if (refusal.of == Of::key)
            section.report_key(name, refusal.message, refusal.hint, refusal.offers);
        else if (refusal.element)
            section.report_element(name, *refusal.element, refusal.message, refusal.hint);
        else if (!refusal.offers.empty())
            section.report_offering(name, refusal.message, refusal.offers);
        else
            section.report(name, refusal.message, refusal.hint);
    }
}

/// Reads one key into `options`, by what its value may be.
class KeyReader {
  public:
    KeyReader(const Tables& tables, const Section& section, const StrategyKey& key, StrategyOptions& options,
              const StrategyUse& use)
        : tables_(tables), section_(section), key_(key), options_(options), use_(use) {}

    void operator()(const StrategyKey::Integer& integer) const {
        if (const auto value = section_.integer(key_.name, {integer.least, integer.most}))
            integer.put(options_, *value);
    }
    void operator()(const StrategyKey::Number& number) const {
        if (const auto value = section_.number(key_.name, {number.least, number.most, number.least_itself}))
            number.put(options_, *value);
    }
    void operator()(const StrategyKey::Flag& flag) const {
        if (const auto value = section_.boolean(key_.name)) flag.put(options_, *value);
    }
    void operator()(const StrategyKey::Word& word) const {
        if (const auto value = section_.word(key_.name, word.words, word.any_case))
            word.put(options_,
                     static_cast<std::size_t>(std::ranges::find(word.words, *value) - word.words.begin()));
    }
    void operator()(const StrategyKey::FlagOr& either) const {
        const toml::node* const node = section_.node(key_.name);
        if (node == nullptr) return;
        if (node->is_boolean())
            (*this)(either.flag);
        else if (either.number && node->is_integer())
            (*this)(*either.number);
        else if (either.word && node->is_string())
            (*this)(*either.word);
        else
            section_.wrong_type(key_.name, key_.type(), *node);
    }
    void operator()(const StrategyKey::Table& table) const {
        const Section inner = section_.section(key_.name);
        for (const StrategyKey& key : table.keys())
            std::visit(KeyReader(tables_, inner, key, options_, use_), key.value);
    }
    void operator()(const StrategyKey::Several& several) const {
        const toml::node* const node = section_.node(key_.name);
        if (node == nullptr) return;
        std::vector<parallel::Refusal> found;
        if (!several.read(value_of(node), options_, use_, found)) wrong_type(several.type, *node);
        report(tables_, found, true);
    }

  private:
    /// At the elements, where the value is an array as it should be and they are of another type.
    void wrong_type(std::string_view wanted, const toml::node& node) const {
        const toml::array* const array = node.as_array();
        const auto type = wanted == "array of strings"    ? toml::node_type::string
                          : wanted == "array of integers" ? toml::node_type::integer
                                                          : toml::node_type::none;
        if (array == nullptr || type == toml::node_type::none)
            return section_.wrong_type(key_.name, wanted, node);
        for (std::size_t i = 0; i < array->size(); ++i)
            if (array->get(i)->type() != type)
                section_.wrong_element(key_.name, i, type == toml::node_type::string ? "string" : "integer",
                                       *array->get(i));
    }

    const Tables& tables_;
    const Section& section_;
    const StrategyKey& key_;
    StrategyOptions& options_;
    const StrategyUse& use_;
};

/// Whether a value of another type may be a mistake of that declaration's.
bool takes_type(const StrategyKey& key, const toml::node& node) {
    if (std::holds_alternative<StrategyKey::Integer>(key.value)) return node.is_integer();
    if (std::holds_alternative<StrategyKey::Number>(key.value)) return node.is_number();
    if (std::holds_alternative<StrategyKey::Flag>(key.value)) return node.is_boolean();
    if (std::holds_alternative<StrategyKey::Word>(key.value)) return node.is_string();
    const auto* either = std::get_if<StrategyKey::FlagOr>(&key.value);
    return either == nullptr || node.is_boolean() || (either->number && node.is_integer()) ||
           (either->word && node.is_string());
}

/// A key of strategies that are not asked for: as one declares it that takes such a value, else as the first.
const StrategyKey& foreign_key(const Section& parallel, const StrategyKey& first) {
    const toml::node* const node = parallel.node(first.name);
    for (const Declaration* const each : parallel::strategies())
        if (const StrategyKey* key = each->key(first.name); node && key && takes_type(*key, *node))
            return *key;
    return first;
}

void refuse_foreign_keys(const Section& section, const Declaration& strategy) {
    for (const StrategyKey& key : parallel::strategy_keys()) {
        if (!section.has(key.name) || strategy.key(key.name) != nullptr) continue;
        std::string known;
        for (const Declaration* const each : parallel::strategies())
            if (each->key(key.name) != nullptr)
                known += (known.empty() ? "" : "\", \"") + std::string(each->word);
        section.report_key(key.name, {"scenario.key_needs_strategy",
                                      {{"key", section.full(key.name)}, {"strategy", known}}});
    }
}

}  // namespace

const Section& Tables::of(std::string_view name) const {
    if (name == "mesh") return mesh;
    if (name == "model") return model;
    return name == "train" ? train : parallel;
}

void read_strategy_keys(const Tables& tables, bool mesh_known, Scenario& s) {
    const Section& parallel = tables.parallel;
    const bool strategy_known = parallel.sure("data");
    const Declaration& strategy = parallel::declaration(s.parallel.data);
    const StrategyUse use = use_of(tables, mesh_known, s);
    StrategyOptions unused;  // of keys that the strategy does not take
    for (const StrategyKey& first : parallel::strategy_keys()) {
        const StrategyKey* const own = strategy_known ? strategy.key(first.name) : nullptr;
        const StrategyKey& key = own != nullptr ? *own : foreign_key(parallel, first);
        StrategyOptions& options = own != nullptr || !strategy_known ? s.parallel : unused;
        std::visit(KeyReader(tables, parallel, key, options, use), key.value);
    }
}

void read_model_declarations(const Tables& tables, bool mesh_known, Scenario& s,
                             const std::function<bool(const parallel::ModelDeclaration&)>& now) {
    const StrategyUse use = use_of(tables, mesh_known, s);
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations()) {
        if (!now(*each)) continue;
        for (const StrategyKey& key : each->keys)
            std::visit(KeyReader(tables, tables.of(each->table), key, s.parallel, use), key.value);
        report(tables, each->settle(s.parallel, use), false);
    }
}

void refuse_strategy(const Section& root, const Tables& tables, bool mesh_known, const Scenario& s) {
    const Section& parallel = tables.parallel;
    const Declaration& strategy = parallel::declaration(s.parallel.data);
    refuse_foreign_keys(parallel, strategy);
    for (const StrategyKey& key : strategy.keys)
        if (key.required()) parallel.require(key.name);
    if (strategy.refusals != nullptr)
        report(tables, strategy.refusals(s.parallel, use_of(tables, mesh_known, s)), true);
    if (strategy.unsaved != nullptr && root.section("checkpoint").present())
        report(tables, strategy.unsaved(s.parallel), true);
}

}  // namespace meshscope::scenario
