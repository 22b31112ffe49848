#include "core/scenario/section.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>

#include "core/base/text.h"
#include "core/base/toml_number.h"
#include "core/scenario/keys.h"

namespace meshscope::scenario {

namespace {

/// TOML's own names of types; they are the same in both languages.
std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "table";
        case toml::node_type::array:
            return "array";
        case toml::node_type::string:
            return "string";
        case toml::node_type::integer:
            return "integer";
        case toml::node_type::floating_point:
            return "float";
        case toml::node_type::boolean:
            return "boolean";
        default:
            return "date or time";
    }
}

/// The system and SQLite take the part before a NUL for the whole: "a.toml\0b" would be the file a.toml.
bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

std::string text_of(double value) {
    std::ostringstream out;
    out << value;
    return plain_exponent(out.str());
}

/// For a key that its own table does not know: the one table that has it; none where several have it.
std::optional<Message> hint_of_table(std::string_view word) {
    std::optional<Message> hint;
    for (const Key& table : keys_of("")) {
        if (!table.type.starts_with("table") || table.type == "tables") continue;
        if (std::ranges::none_of(keys_of(table.name), [&](const Key& key) { return key.name == word; }))
            continue;
        if (hint) return std::nullopt;
        hint = {"scenario.hint.key_of_table",
                {{"key", std::string(word)}, {"table", std::string(table.name)}}};
    }
    return hint;
}

}  // namespace

void refuse_for_kind(const Section& section, std::initializer_list<std::string_view> names,
                     const std::string& kind, std::string_view kind_key) {
    for (const std::string_view key : names)
        if (section.has(key))
            section.refuse_foreign(
                key, {"scenario.key_not_for_kind",
                      {{"key", section.full(key)}, {"kind_key", std::string(kind_key)}, {"kind", kind}}});
}

Section::Section(Diagnostics& diagnostics, const toml::table* table, std::string path,
                 toml::source_position where, std::string place)
    : diagnostics_(&diagnostics),
      table_(table),
      path_(std::move(path)),
      place_(place.empty() ? path_ : std::move(place)),
      where_(where) {
    refuse_unknown_keys();
}

void Section::refuse_unknown_keys() const {
    // A table that two readers read is one table of the user's.
    if (!table_ || !diagnostics_->first_look_at(table_)) return;
    const std::vector<Key> known = keys_of(path_);
    std::vector<std::string_view> names;
    for (const Key& key : known)
        if (key.support == KeySupport::now) names.push_back(key.name);
    std::set<std::string> guessed;
    for (const auto& [key, value] : *table_) {
        const std::string_view word = key.str();
        const auto found =
            std::find_if(known.begin(), known.end(), [&](const Key& k) { return k.name == word; });
        if (found == known.end()) {
            refuse_unknown_key(key, names, guessed);
        } else if (found->support == KeySupport::later) {
            diagnostics_->add(key.source().begin, {"scenario.not_supported", {{"key", full(word)}}});
        }
    }
}

/// Hints at the table that the key belongs in, else at the key that was probably meant.
void Section::refuse_unknown_key(const toml::key& key, const std::vector<std::string_view>& names,
                                 std::set<std::string>& guessed) const {
    const std::string word(key.str());
    Refusal refusal{
        {{"scenario.unknown_key", {{"key", full(word)}}}, position(key.source().begin), {}}, {}, {}, {}};
    if (std::optional<Message> of_table = hint_of_table(word)) {
        const std::string to = to_text(*of_table->find("table")) + "." + word;
        refusal.diagnostic.hint = *of_table;
        refusal.guesses.push_back(
            {std::move(*of_table), "scenario.hint.key_of_table_then", {{to, {}}}, place(word)});
        return diagnostics_->add(std::move(refusal));
    }
    refusal.diagnostic.hint = hint_for(word, names);
    if (const std::string meant = guess_key(refusal, *table_, key, place_, names, guessed); !meant.empty())
        diagnostics_->doubt(table_, meant);
    diagnostics_->add(std::move(refusal));
}

std::string Section::full(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

std::string Section::place(std::string_view key) const {
    return place_of(place_, key);
}

toml::source_position Section::at(std::string_view key) const {
    if (table_)
        for (const auto& [name, value] : *table_)
            if (name.str() == key) return name.source().begin;
    return where_;
}

toml::source_position Section::value_at(std::string_view key) const {
    const toml::node* value = node(key);
    // Tables made by dotted keys stand nowhere.
    return value && value->source().begin.line > 0 ? value->source().begin : at(key);
}

toml::source_position Section::element_at(std::string_view key, std::size_t index) const {
    const toml::node* const value = node(key);
    const toml::array* const array = value ? value->as_array() : nullptr;
    const toml::node* const element = array && index < array->size() ? array->get(index) : nullptr;
    // In a changed table values stand nowhere.
    return element && element->source().begin.line > 0 ? element->source().begin : at(key);
}

SourcePosition Section::position(toml::source_position at) const {
    return {diagnostics_->file(), static_cast<int>(at.line), static_cast<int>(at.column), -1};
}

SourcePosition Section::position_of(std::string_view key) const {
    return position(value_at(key));
}

void Section::report(std::string_view key, Message message, Message hint) const {
    diagnostics_->add(value_at(key), std::move(message), std::move(hint));
}

void Section::report_offering(std::string_view key, Message message, std::vector<Offer> offers) const {
    diagnostics_->add(value_at(key), std::move(message), {}, std::move(offers));
}

void Section::report_key(std::string_view key, Message message, Message hint,
                         std::vector<Offer> offers) const {
    diagnostics_->add(at(key), std::move(message), std::move(hint), std::move(offers));
}

void Section::report_at(Diagnostic diagnostic) const {
    diagnostics_->add(std::move(diagnostic));
}

void Section::report_element(std::string_view key, std::size_t index, Message message, Message hint) const {
    diagnostics_->add(element_at(key, index), std::move(message), std::move(hint));
}

void Section::refuse_foreign(std::string_view key, Message message) const {
    if (const toml::node* const value = node(key)) diagnostics_->take_back(at(key), value->source());
    doubt(key);
    report_key(key, std::move(message));
}

void Section::refuse_word(std::string_view key, const std::string& given,
                          std::span<const std::string_view> words,
                          const std::function<Candidate(const std::string&)>& changed,
                          std::optional<std::size_t> element) const {
    Refusal refusal{{{"scenario.unknown_word", {{"key", full(key)}, {"word", given}}},
                     position(element ? element_at(key, *element) : value_at(key)),
                     hint_for(given, words)},
                    {},
                    {},
                    {}};
    guess_word(refusal, given, words, changed);
    doubt(key);
    diagnostics_->add(std::move(refusal));
}

bool Section::sure(std::string_view key) const {
    return !doubted_ && !(table_ && diagnostics_->is_doubted(table_, key));
}

void Section::refuse(std::string_view key, Message message, Message hint) const {
    diagnostics_->doubt(table_, key);
    report(key, std::move(message), std::move(hint));
}

void Section::wrong_type(std::string_view key, std::string_view wanted, const toml::node& found) const {
    refuse(key,
           {"scenario.wrong_type",
            {{"key", full(key)}, {"wanted", std::string(wanted)}, {"found", std::string(type_name(found))}}});
}

void Section::wrong_element(std::string_view key, std::size_t index, std::string_view wanted,
                            const toml::node& found) const {
    diagnostics_->doubt(table_, key);
    report_element(key, index,
                   {"scenario.wrong_type",
                    {{"key", full(key) + "[" + std::to_string(index) + "]"},
                     {"wanted", std::string(wanted)},
                     {"found", std::string(type_name(found))}}});
}

bool Section::require(std::string_view key) const {
    if (has(key)) return true;
    if (sure(key)) diagnostics_->add(where_, {"scenario.missing_key", {{"key", full(key)}}});
    return false;
}

std::optional<int64_t> Section::integer(std::string_view key, IntegerRange range) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    const auto* integer = value->as_integer();
    if (!integer) {
        wrong_type(key, "integer", *value);
        return std::nullopt;
    }
    const int64_t n = integer->get();
    if (n < range.least || n > range.most) {
        refuse(key, {"scenario.out_of_range", {{"key", full(key)}, {"value", n}}},
               {"scenario.hint.range", {{"least", range.least}, {"most", range.most}}});
        return std::nullopt;
    }
    return n;
}

std::optional<double> Section::number(std::string_view key, NumberRange range) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    const std::optional<double> x = toml_number(*value);
    if (!x) {
        wrong_type(key, "number", *value);
        return std::nullopt;
    }
    const bool inside = *x <= range.most && (range.least_itself ? *x >= range.least : *x > range.least);
    if (!std::isfinite(*x)) {
        refuse(key, {"scenario.not_finite", {{"key", full(key)}, {"value", text_of(*x)}}});
        return std::nullopt;
    }
    if (!inside) {
        refuse(key, {"scenario.out_of_range", {{"key", full(key)}, {"value", text_of(*x)}}},
               {range.least_itself ? "scenario.hint.range" : "scenario.hint.range_above",
                {{"least", text_of(range.least)}, {"most", text_of(range.most)}}});
        return std::nullopt;
    }
    return x;
}

std::optional<bool> Section::boolean(std::string_view key) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    if (const auto* b = value->as_boolean()) return b->get();
    wrong_type(key, "boolean", *value);
    return std::nullopt;
}

std::optional<std::string> Section::text(std::string_view key) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    const auto* s = value->as_string();
    if (!s) {
        wrong_type(key, "string", *value);
        return std::nullopt;
    }
    if (has_nul(s->get())) {
        refuse(key, {"scenario.text_with_nul", {{"key", full(key)}}});
        return std::nullopt;
    }
    return s->get();
}

std::optional<std::string> Section::word(std::string_view key, std::span<const std::string_view> words,
                                         bool any_case) const {
    const std::optional<std::string> given = text(key);
    if (!given) return std::nullopt;
    const auto found = std::ranges::find_if(words, [&](std::string_view each) {
        return any_case ? equal_ignoring_case(each, *given) : each == *given;
    });
    if (found != words.end()) return std::string(*found);
    refuse_word(key, *given, words, [&](const std::string& each) { return Candidate{{place(key), each}}; });
    return std::nullopt;
}

std::optional<std::vector<int64_t>> Section::integers(std::string_view key, IntegerRange each) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    const toml::array* array = value->as_array();
    if (!array) {
        wrong_type(key, "array of integers", *value);
        return std::nullopt;
    }
    std::vector<int64_t> result;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const auto* integer = array->get(i)->as_integer();
        if (!integer) {
            wrong_element(key, i, "integer", *array->get(i));
        } else if (integer->get() < each.least || integer->get() > each.most) {
            doubt(key);
            report_element(key, i, {"scenario.out_of_range", {{"key", full(key)}, {"value", integer->get()}}},
                           {"scenario.hint.range", {{"least", each.least}, {"most", each.most}}});
        } else {
            result.push_back(integer->get());
        }
    }
    return result.size() == array->size() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<std::vector<double>> Section::numbers(std::string_view key) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    const toml::array* array = value->as_array();
    if (!array) {
        wrong_type(key, "array of numbers", *value);
        return std::nullopt;
    }
    std::vector<double> result;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const toml::node& element = *array->get(i);
        const std::optional<double> x = toml_number(element);
        if (x)
            result.push_back(*x);
        else
            wrong_element(key, i, "number", element);
    }
    return result.size() == array->size() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<std::vector<std::string>> Section::texts(std::string_view key) const {
    const toml::node* value = node(key);
    if (!value) return std::nullopt;
    const toml::array* array = value->as_array();
    if (!array) {
        wrong_type(key, "array of strings", *value);
        return std::nullopt;
    }
    std::vector<std::string> result;
    for (std::size_t i = 0; i < array->size(); ++i) {
        const toml::node& element = *array->get(i);
        if (!element.is_string()) {
            wrong_element(key, i, "string", element);
        } else if (std::string text = element.value_or(std::string()); has_nul(text)) {
            doubt(key);
            report_element(key, i,
                           {"scenario.text_with_nul", {{"key", full(key) + "[" + std::to_string(i) + "]"}}});
        } else {
            result.push_back(std::move(text));
        }
    }
    return result.size() == array->size() ? std::optional(std::move(result)) : std::nullopt;
}

Section Section::section(std::string_view key) const {
    const toml::node* value = node(key);
    const toml::table* inner = value ? value->as_table() : nullptr;
    if (value && !inner) wrong_type(key, "table", *value);
    const bool bracketed = inner && inner->source().begin.line > 0;
    Section section(*diagnostics_, inner, full(key), bracketed ? inner->source().begin : at(key), place(key));
    section.doubted_ = !sure(key);
    return section;
}

std::vector<Section> Section::sections(std::string_view key) const {
    const toml::node* value = node(key);
    if (!value) return {};
    const toml::array* array = value->as_array();
    if (!array) {
        wrong_type(key, "array of tables", *value);
        return {};
    }
    for (std::size_t i = 0; i < array->size(); ++i)
        if (!array->get(i)->is_table()) {
            wrong_element(key, i, "table", *array->get(i));
            return {};
        }
    std::vector<Section> result;
    for (const toml::node& element : *array) {
        const std::string number = std::to_string(result.size());
        result.emplace_back(*diagnostics_, element.as_table(), full(key), element.source().begin,
                            place(key) + "." + number);
    }
    return result;
}

}  // namespace meshscope::scenario
