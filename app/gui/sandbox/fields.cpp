#include "app/gui/sandbox/fields.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "app/gui/sandbox/toml_text.h"
#include "core/base/digits.h"
#include "core/base/one_process.h"
#include "core/base/text.h"
#include "core/base/toml_text.h"
#include "core/parallel/declaration.h"
#include "core/parallel/model_declaration.h"
#include "core/scenario/keys.h"
#include "core/scenario/model_config.h"
#include "core/scenario/words.h"

namespace meshscope::sandbox {
namespace {

using parallel::StrategyKey;

/// scenario::model_kinds(), and what a configuration is named like: chosen, it is a text to be typed on.
constexpr std::array<std::string_view, 5> kModels{"toy", "mlp", "gpt", "llama", "hf:config.json"};
constexpr std::array<std::string_view, 4> kPhases{"setup", "forward", "backward", "optimizer"};

/// What decides which keys have a meaning.
struct Kinds {
    std::string model, data, optimizer, sampler, fault, call;
    bool calls = false;
    bool config = false;          ///< the model is a configuration's
    std::string mesh_names = {};  ///< as the file has them
    bool own_algorithm = false;  ///< a file's name
    std::function<std::string(std::string_view)> parallel = {};  ///< the word of a key of [parallel]

    bool has_dim(std::string_view name) const {
        return mesh_names.find('"' + std::string(name) + '"') != std::string::npos;
    }
    bool tokens() const { return model == "gpt" || model == "llama"; }
};

std::string unquoted(const std::string& toml) {
    const auto value = parse_value(toml);
    return value && value->is_string() ? value->as_string()->get() : toml;
}

Kinds kinds_of(const Reading& r) {
    const auto word = [&](const char* table, const char* name) {
        return unquoted(r.value(joined(table, name)));
    };
    Kinds k{word("model", "kind"),   word("parallel", "data"), word("optimizer", "kind"),
            word("data", "sampler"), word("faults", "kind"),   word("call", "op")};
    // A configuration's kind is known once it could be read; all but GPT-2's are llama's.
    k.config = k.model.starts_with(scenario::kConfigPrefix);
    if (k.config) k.model = r.scenario ? r.scenario->model.kind : "llama";
    k.mesh_names = r.value(joined("mesh", "names"));
    k.calls = r.values.count("call") > 0;
    k.own_algorithm = scenario::names_algorithm_file(word("parallel", "algorithm"));
    k.parallel = [&r](std::string_view name) { return unquoted(r.value(joined("parallel", name))); };
    return k;
}

/// A field and whether it has a meaning now.
struct Offered {
    Field field;
    bool now = true;
};

struct OfferedGroup {
    std::string_view id;
    std::vector<Offered> fields;
};

/// What a declared key is edited as.
Field field_of(std::string_view table, const StrategyKey& key) {
    Field field{table, key.name};
    const auto* either = std::get_if<StrategyKey::FlagOr>(&key.value);
    const auto* word = std::get_if<StrategyKey::Word>(&key.value);
    if (either != nullptr && either->word && !either->number) word = &*either->word;
    if (word != nullptr) {
        field.kind = FieldKind::words;
        field.words = word->words;
    } else if (std::holds_alternative<StrategyKey::Flag>(key.value)) {
        field.kind = FieldKind::flag;
    } else if (std::holds_alternative<StrategyKey::Number>(key.value)) {
        field.kind = FieldKind::number;
    } else if (!std::holds_alternative<StrategyKey::Integer>(key.value)) {
        field.kind = FieldKind::raw;
    }
    return field;
}

/// The name of a declared table, "parallel.powersgd", as the keys have it.
std::string_view table_of(const StrategyKey& key) {
    const std::string name = joined("parallel", key.name);
    const auto keys = scenario::keys();
    return std::ranges::find(keys, std::string_view(name), &scenario::Key::table)->table;
}

/// The keys that strategies declare, each as the strategy in the text has it.
std::vector<Offered> strategy_fields(const Kinds& k) {
    const parallel::Declaration* const strategy = parallel::find_declaration(k.data);
    std::vector<Offered> fields;
    for (const StrategyKey& first : parallel::strategy_keys()) {
        const StrategyKey* const own = strategy != nullptr ? strategy->key(first.name) : nullptr;
        const StrategyKey& key = own != nullptr ? *own : first;
        const auto* table = std::get_if<StrategyKey::Table>(&key.value);
        if (table == nullptr) {
            fields.push_back({field_of("parallel", key), own != nullptr});
            continue;
        }
        const bool now = own != nullptr &&
                         (table->beside_key.empty() || k.parallel(table->beside_key) == table->beside_word);
        for (const StrategyKey& inner : table->keys())
            fields.push_back({field_of(table_of(key), inner), now});
    }
    return fields;
}

/// The keys of `table` that the ways of sharing a model out declare.
std::vector<Offered> model_fields(std::string_view table, const Kinds& k) {
    std::vector<Offered> fields;
    for (const parallel::ModelDeclaration* const each : parallel::model_declarations()) {
        if (each->table != table) continue;
        const bool now = each->role ? k.has_dim(name(*each->role)) : !k.calls;
        for (const StrategyKey& key : each->keys)
            fields.push_back({field_of(table, key), now && (!key.of_tokens || k.tokens())});
    }
    return fields;
}

std::vector<OfferedGroup> offered_groups(const Kinds& k) {
    using enum FieldKind;
    const bool trains = !k.calls, toy = k.model == "toy";
    const bool tokens = k.tokens();
    const bool adam = k.optimizer == "adam" || k.optimizer == "adamw";
    const bool fault = !k.fault.empty();
    return {
        {"mesh",
         {{{"mesh", "shape", list}}, {{"mesh", "names", names}}, {{"mesh", "world", integer}, false}}},
        {"parallel",
         {{{"parallel", "data", words, scenario::data_strategies()}, trains},
          {{"parallel", "algorithm", words, scenario::algorithms()}, !k.own_algorithm},
          {{"parallel", "algorithm", text}, k.own_algorithm}}},
        {"train",
         {{{"train", "steps", integer}, trains},
          {{"train", "global_batch", integer}, trains},
          {{"train", "accumulate", integer}, trains},
          {{"train", "micro_batch", integer}, false},
          {{"train", "clip_norm", number}, trains},
          {{"train", "frozen", names}, trains},
          {{"train", "dtype", words, scenario::train_dtypes()}, trains},
          {{"memory", "ops", words, scenario::memory_ops()}, false},
          {{"memory", "norm", words, scenario::memory_pieces()}, false},
          {{"memory", "loss", words, scenario::memory_pieces()}, false}}},
        {"model",
         {{{"model", "kind", words, kModels}, trains && !k.config},
          {{"model", "kind", text}, trains && k.config},
          {{"model", "dim", integer}, trains && !toy},
          {{"model", "hidden", integer}, trains && !toy},
          {{"model", "layers", integer}, trains && !toy},
          {{"model", "vocab", integer}, tokens},
          {{"model", "vocab_multiple", integer}, tokens},
          {{"model", "seq", integer}, tokens},
          {{"model", "heads", integer}, tokens},
          {{"model", "kv_heads", integer}, k.model == "llama"},
          {{"model", "tied", flag}, tokens},
          {{"model", "head_dim", integer}, tokens},
          {{"model", "window", integer}, tokens},
          {{"model", "qk_norm", words, scenario::qk_norms()}, k.model == "llama"},
          {{"model", "qkv_bias", flag}, k.model == "llama"},
          {{"model", "bias", flag}, k.model == "mlp" || k.model == "gpt"},
          {{"model", "lora_rank", integer}, trains},
          {{"model", "lora_alpha", number}, false},
          {{"model", "seed", integer}, trains}}},
        {"data",
         {{{"data", "samples", integer}, trains},
          {{"data", "sampler", words, scenario::samplers()}, trains},
          {{"data", "shuffle", flag}, k.sampler == "distributed"},
          {{"data", "drop_last", flag}, k.sampler == "distributed"},
          {{"data", "lengths", list}, tokens},
          {{"data", "ignore_index", integer}, tokens},
          {{"data", "seed", integer}, trains}}},
        {"optimizer",
         {{{"optimizer", "kind", words, scenario::optimizer_kinds()}, trains},
          {{"optimizer", "lr", number}, trains},
          {{"optimizer", "momentum", number}, trains && !adam},
          {{"optimizer", "weight_decay", number}, trains}}},
        {"call",
         {{{"call", "op", words, scenario::call_ops()}, k.calls},
          {{"call", "elements", integer}, k.calls},
          {{"call", "dtype", words, scenario::dtypes()}, k.calls},
          {{"call", "reduce", words, scenario::call_reduce_ops()},
           k.call == "all_reduce" || k.call == "reduce" || k.call == "reduce_scatter"},
          {{"call", "fill", words, scenario::call_fills()}, k.calls}}},
        {"faults",
         {{{"faults", "kind", words, scenario::fault_kinds()}, trains},
          {{"faults", "rank", integer}, fault},
          {{"faults", "step", integer}, fault},
          {{"faults", "phase", words, kPhases}, fault},
          {{"faults", "at", integer}, fault},
          {{"faults", "ms", integer}, k.fault == "delay"},
          {{"faults", "field", words, scenario::fault_fields()}, k.fault == "mismatch"}}},
        {"run",
         {{{"hardware", "ranks_per_node", integer}},
          {{"hardware", "profile", words, scenario::profiles()}},
          {{"run", "checked", flag}},
          {{"run", "backend", words, kOneProcessBackends}, false},
          {{"run", "schedule", text}, false}}},
    };
}

/// offered_groups() with the fields that core/parallel declares: the strategy's behind what picks it, the
/// rest of [parallel] behind them, those of other tables at the end.
std::vector<OfferedGroup> offered(const Kinds& k) {
    std::vector<OfferedGroup> groups = offered_groups(k);
    for (OfferedGroup& group : groups) {
        std::vector<Offered> declared = model_fields(group.id, k);
        auto at = group.fields.end();
        if (group.id == "parallel") {
            const std::vector<Offered> own = strategy_fields(k);
            declared.insert(declared.begin(), own.begin(), own.end());
            at = group.fields.begin() + 1;
        }
        group.fields.insert(at, declared.begin(), declared.end());
    }
    return groups;
}

/// Takes one pair of brackets off, where the text has both.
std::string_view without_brackets(std::string_view text) {
    for (const char* pair : {"[]", "()"})
        if (text.size() >= 2 && text.front() == pair[0] && text.back() == pair[1])
            return trimmed(text.substr(1, text.size() - 2));
    return text;
}

/// The words of a list, however they are set apart: "2, 2", "[2, 2]", "2 2", "2x2", "2 × 2". Nothing where a
/// part of the text would have to be passed over: "2,,2", "[2", "2, 2,", "\"a".
std::optional<std::vector<std::string>> parts_of(const std::string& typed, bool numbers) {
    constexpr std::string_view kTimes = "\xC3\x97";
    const std::string_view text = without_brackets(trimmed(typed));
    std::vector<std::string> parts;
    std::size_t at = 0;
    const auto blanks = [&] {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    };
    while (at < text.size()) {
        if (!parts.empty()) {  // what sets it apart from the one before
            const std::size_t before = at;
            blanks();
            const bool times = numbers && (text.substr(at, 2) == kTimes ||
                                           (text[at] == 'x' && at + 1 < text.size() &&
                                            (is_digit(text[at + 1]) || text[at + 1] == ' ')));
            if (times)
                at += text[at] == 'x' ? 1 : 2;
            else if (text[at] == ',')
                ++at;
            else if (at == before)
                return std::nullopt;
            blanks();
        }
        std::string part;
        if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
            const std::size_t end = text.find(text[at], at + 1);
            if (end == std::string_view::npos) return std::nullopt;
            part = text.substr(at + 1, end - at - 1);
            at = end + 1;
        } else {
            const std::size_t begin = at;
            while (at < text.size() &&
                   std::string_view(", \t[]()\"'").find(text[at]) == std::string_view::npos &&
                   !(numbers && text.substr(at, 2) == kTimes) &&
                   !(numbers && text[at] == 'x' && at > begin && is_digit(text[at - 1])))
                ++at;
            if (at == begin) return std::nullopt;
            part = text.substr(begin, at - begin);
        }
        parts.push_back(part);
    }
    return parts;
}

/// What the text would be as a value of that type; "" where it is none, or not all of it is: TOML would take
/// "2 # two" for 2.
std::string as_value(const std::string& typed, bool (*fits)(const toml::node&)) {
    const auto value = parse_value(typed);
    const auto alone = parse_value("[" + typed + "]");
    const bool whole = alone && alone->is_array() && alone->as_array()->size() == 1;
    return value && whole && fits(*value) ? typed : "";
}

bool is_integer(const toml::node& node) {
    return node.is_integer();
}
bool is_number(const toml::node& node) {
    return node.is_number();
}
bool is_anything(const toml::node&) {
    return true;
}

std::string value_or_string(const std::string& typed, bool (*fits)(const toml::node&)) {
    const std::string value = as_value(typed, fits);
    return value.empty() ? toml_string(typed) : value;
}

std::string to_toml(const Field& field, const std::string& typed) {
    switch (field.kind) {
        case FieldKind::integer:
            return value_or_string(typed, is_integer);
        case FieldKind::number:
            // ".5" is no number to TOML, but is to everyone else.
            return value_or_string(typed.starts_with('.') ? "0" + typed : typed, is_number);
        case FieldKind::flag:
            return typed == "true" || typed == "false" ? typed : toml_string(typed);
        case FieldKind::raw:
            return value_or_string(typed, is_anything);
        case FieldKind::list:
        case FieldKind::names: {
            const auto parts = parts_of(typed, field.kind == FieldKind::list);
            const auto fits = [&](const std::string& part) {
                return field.kind == FieldKind::names || !as_value(part, is_integer).empty();
            };
            // Otherwise as it was typed, so that it is told and stays to be mended.
            if (!parts || !std::ranges::all_of(*parts, fits)) break;
            std::string made;
            for (const std::string& part : *parts)
                made +=
                    (made.empty() ? "" : ", ") + (field.kind == FieldKind::list ? part : toml_string(part));
            return "[" + made + "]";
        }
        case FieldKind::words:
        case FieldKind::text:
            break;
    }
    return toml_string(typed);
}

std::string plain(const Field& field, const std::string& toml) {
    const auto value = parse_value(toml);
    if (!value) return toml;
    if (value->is_string()) return value->as_string()->get();
    const bool list = field.kind == FieldKind::list || field.kind == FieldKind::names;
    if (!list || !value->is_array()) return toml;
    std::string made;
    for (const toml::node& each : *value->as_array())
        made += (made.empty() ? "" : ", ") + (each.is_string() ? each.as_string()->get() : value_text(each));
    return made;
}

}  // namespace

std::vector<FieldGroup> fields_of(const Reading& reading) {
    std::vector<FieldGroup> groups;
    for (const OfferedGroup& group : offered(kinds_of(reading))) {
        FieldGroup made{group.id, {}};
        const auto has = [&](const std::string& key) {
            return std::any_of(made.fields.begin(), made.fields.end(),
                               [&](const Field& field) { return field.key() == key; });
        };
        // One key may have two kinds of field; the one that has a meaning is the one to show.
        const auto has_now = [&](const std::string& key) {
            return std::any_of(group.fields.begin(), group.fields.end(),
                               [&](const Offered& each) { return each.now && each.field.key() == key; });
        };
        for (const Offered& each : group.fields) {
            const std::string key = each.field.key();
            const bool given = !has_now(key) && !has(key) && !reading.value(key).empty();
            if (each.now || given) made.fields.push_back(each.field);
        }
        if (!made.fields.empty()) groups.push_back(std::move(made));
    }
    return groups;
}

std::vector<Field> all_fields() {
    std::vector<Field> fields;
    for (const OfferedGroup& group : offered({}))
        for (const Offered& each : group.fields)
            if (std::none_of(fields.begin(), fields.end(),
                             [&](const Field& field) { return field.key() == each.field.key(); }))
                fields.push_back(each.field);
    return fields;
}

std::string shown(const Field& field, const Reading& reading) {
    const std::string& value = reading.value(field.key());
    return value.empty() ? "" : plain(field, value);
}

std::string fallback(const Field& field) {
    for (const scenario::Key& key : scenario::keys())
        if (key.table == field.table && key.name == field.name) {
            const auto value = parse_value(key.fallback);
            return value ? plain(field, value_text(*value)) : "";
        }
    return "";
}

std::vector<Change> changes_for(const Field& field, const std::string& typed, const Reading& reading) {
    const std::string text(trimmed(typed)), key = field.key();
    if (field.table == "faults" && field.name == "kind") {
        if (text.empty()) return {{std::string(field.table), ""}};
        std::vector<Change> changes{{key, to_toml(field, text)}};
        // A fault is somewhere: on rank 0 in the first step, until it is said otherwise.
        for (const char* name : {"rank", "step"}) {
            const std::string place = joined(field.table, name);
            if (reading.value(place).empty()) changes.push_back({place, "0"});
        }
        return changes;
    }
    if (text.empty() && reading.value(key).empty()) return {};
    return {{key, text.empty() ? "" : to_toml(field, text)}};
}

}  // namespace meshscope::sandbox
