#include "core/scenario/variant.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "core/base/joined.h"
#include "core/base/nearest.h"
#include "core/base/toml_text.h"
#include "core/scenario/evaluate.h"
#include "core/scenario/keys.h"
#include "core/scenario/readers.h"

namespace meshscope::scenario {
namespace {

/// What is the lesson's own and no part of what runs.
bool is_lesson_key(std::string_view key) {
    const std::string_view first = key.substr(0, key.find('.'));
    return first == "format" || first == "title" || first == "lesson" || first == "quiz" || first == "check";
}

/// Whether the table's keys stand in a list of tables, where a dotted key cannot say which one it means.
bool is_in_list(std::string_view table) {
    const auto all = keys();
    return std::any_of(all.begin(), all.end(), [&](const Key& key) {
        return key.type == "tables" && key.table.empty() && table.substr(0, table.find('.')) == key.name;
    });
}

/// Such as `mesh.shape`, `parallel` and `faults`: the keys that a variant may change.
std::vector<std::string> changeable_keys() {
    std::vector<std::string> names;
    for (const Key& key : keys()) {
        if (key.support != KeySupport::now || is_in_list(key.table)) continue;
        std::string name = key.table.empty() ? "" : std::string(key.table) + ".";
        name += key.name;
        if (!is_lesson_key(name)) names.push_back(std::move(name));
    }
    return names;
}

/// A key of a variant's `set`: its dotted name, its place as place_of() writes it, where it stands, and the
/// new value. Node is const for who only reads.
template <typename Node>
struct SetKey {
    std::string name, place;
    toml::source_region at;
    Node* value = nullptr;
};

/// `set` may quote its dotted keys or not: unquoted ones make tables, and mean the key inside, not the whole
/// table, as one that is written out in braces does.
template <typename Table, typename Node>
void collect(Table& set, const std::string& before, const std::string& place,
             std::vector<SetKey<Node>>& into) {
    for (auto&& [key, value] : set) {
        const std::string name = before + std::string(key.str());
        const std::string here = place_of(place, key.str());
        if (auto* table = value.as_table(); table && !table->is_inline()) {
            collect(*table, name + ".", here, into);
        } else {
            into.push_back({name, here, key.source(), &value});
        }
    }
}

template <typename Node>
std::vector<SetKey<Node>> set_keys(Node* set, const std::string& place = "") {
    std::vector<SetKey<Node>> found;
    if (set && set->as_table()) collect(*set->as_table(), "", place, found);
    return found;
}

std::vector<std::string> parts_of(const std::string& key) {
    std::vector<std::string> parts;
    std::istringstream split(key);
    for (std::string part; std::getline(split, part, '.');) parts.push_back(part);
    return parts;
}

/// The table that holds the last part of a dotted key; made where it is not there and `make` says so, else
/// null.
toml::table* table_of(toml::table& root, const std::vector<std::string>& parts, bool make) {
    toml::table* table = &root;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        toml::node* inner = table->get(parts[i]);
        if (!inner || !inner->is_table()) {
            if (!make) return nullptr;
            inner = &table->insert_or_assign(parts[i], toml::table{}).first->second;
        }
        table = inner->as_table();
    }
    return table;
}

/// Where no key is near: the keys of the table that the word names, or the tables there are.
Message keys_there(const std::string& word) {
    const std::vector<std::string> known = changeable_keys();
    const std::string table = word.substr(0, word.rfind('.') + 1);
    const auto listed = [&](const std::string& before) {
        std::vector<std::string_view> names;
        for (const std::string& key : known)
            if (key.starts_with(before) && key.find('.', before.size()) == std::string::npos)
                names.push_back(key);
        return names;
    };
    std::vector<std::string_view> names = listed(table);
    if (names.empty()) names = listed("");
    return {"scenario.hint.known", {{"known", joined(names)}}};
}

/// An unknown key of a variant, and what may be written for it: `changed(key)` is the guess's change.
Refusal unknown_key(const std::string& key, SourcePosition at, const std::set<std::string>& taken,
                    const std::function<Candidate(const std::string&)>& changed,
                    const std::string& moved_from = "") {
    Refusal refusal{{{"scenario.unknown_key", {{"key", key}}}, std::move(at), keys_there(key)}, {}, {}, {}};
    // Of a dotted name the last part is what is misspelt: unitz is not data, though both stand in [parallel].
    const auto most = std::max<std::size_t>(1, (key.size() - std::min(key.size(), key.rfind('.') + 1)) / 3);
    std::vector<std::string> near = near_words(key, changeable_keys());
    std::erase_if(near,
                  [&](const std::string& word) { return std::cmp_greater(edit_distance(key, word), most); });
    for (const std::string& guess : near) {
        if (taken.contains(guess)) {  // no key is written twice
            if (guess != near.front()) continue;
            refusal.diagnostic.hint = {"scenario.hint.key_is_there", {{"guess", guess}}};
            break;
        }
        const Message hint{"scenario.hint.did_you_mean", {{"guess", guess}}};
        if (refusal.guesses.empty()) refusal.diagnostic.hint = hint;
        refusal.guesses.push_back({hint, "scenario.hint.did_you_mean_then", changed(guess), moved_from});
    }
    return refusal;
}

bool is_known(const std::string& key) {
    const std::vector<std::string> known = changeable_keys();
    return std::find(known.begin(), known.end(), key) != known.end();
}

/// An error's id: words of a-z, 0-9 and _ with dots between them.
bool is_message_id(const std::string& text) {
    return text.find('.') != std::string::npos && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
           });
}

SourcePosition position(const Section& section, toml::source_position at) {
    SourcePosition found = section.position_of("id");
    found.line = static_cast<int>(at.line);
    found.column = static_cast<int>(at.column);
    return found;
}

void read_unset(const Section& root, const Section& section, Variant& variant) {
    const auto names = section.texts("unset").value_or(std::vector<std::string>{});
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!is_known(names[i])) {
            section.report_refused(
                unknown_key(names[i], section.position_of_element("unset", i), {names.begin(), names.end()},
                            [&](const std::string& guess) {
                                return Candidate{{section.place("unset") + "." + std::to_string(i), guess}};
                            }));
            continue;
        }
        const std::vector<std::string> parts = parts_of(names[i]);
        Section table = root;
        for (std::size_t p = 0; p + 1 < parts.size(); ++p) table = table.section(parts[p]);
        if (!table.has(parts.back()) && table.sure(parts.back()))
            section.report_element("unset", i, {"scenario.variant_unset_absent", {{"key", names[i]}}});
        variant.changes.push_back({names[i], ""});
    }
}

Variant read_variant(const Section& root, const Section& section, const std::string& folder,
                     std::set<std::string>& seen) {
    Variant variant;
    variant.id = read_id(section, seen);
    variant.at = position(section, section.where());
    read_unset(root, section, variant);
    const toml::node* set = section.node("set");
    if (set && !set->is_table()) section.wrong_type("set", "table", *set);
    const auto keys = set_keys(set, section.place("set"));
    std::set<std::string> taken;
    for (const auto& key : keys) taken.insert(key.name);
    for (const auto& key : keys) {
        if (!is_known(key.name)) {
            Refusal refusal = unknown_key(
                key.name, position(section, key.at.begin), taken,
                [&](const std::string& guess) {
                    return Candidate{{place_of(section.place("set"), guess), {}}};
                },
                key.place);
            if (!refusal.guesses.empty())  // another key that seems to be the same one has no guess then
                taken.insert(to_text(*refusal.guesses.front().hint.find("guess")));
            section.report_refused(std::move(refusal));
        }
        variant.changes.push_back({key.name, toml_text(*key.value)});
    }
    if (!section.has("set") && !section.has("unset") && section.sure("set", "unset"))
        section.report("id", {"scenario.variant_changes_nothing", {{"id", variant.id}}});
    variant.ends = section.text("ends").value_or("");
    if (!variant.ends.empty() && !is_message_id(variant.ends))
        section.refuse("ends", {"scenario.variant_bad_end", {{"ends", variant.ends}}});
    variant.numbers = read_number_tables(section, folder);
    if (!variant.ends.empty() && section.has("number"))
        section.report_key("number", {"scenario.variant_number_with_end", {{"id", variant.id}}});
    return variant;
}

/// Keys that say nothing to a number of its kind.
void refuse_for_figure(const Section& section, const LessonNumber& number) {
    const auto refuse = [&](std::string_view key) {
        if (section.has(key))
            section.report_key(
                key, {"scenario.modelled_key", {{"key", section.full(key)}, {"figure", number.modelled}}});
    };
    if (number.modelled.empty()) {
        if (section.has("modelled") || !section.sure("modelled")) return;  // reported
        for (const std::string_view key : {"rank", "hardware", "decimals"})
            if (section.has(key))
                section.report_key(key, {"scenario.needs_modelled", {{"key", section.full(key)}}});
        return;
    }
    if (!is_of_events(number.modelled)) refuse("sql");
    if (!is_of_a_rank(number.modelled)) refuse("rank");
}

}  // namespace

Scenario changed_scenario(const Scenario& scenario, const Variant& variant) {
    toml::table table = parse_table(scenario.source, scenario.path);
    apply_variant(table, variant.id);
    std::ostringstream source;
    source << table;
    Scenario changed = read_table(table, scenario.path, source.str());
    // Without its steps it is no lesson, but it is run as one.
    if (!changed.checked && !scenario.steps_of_lesson.empty()) changed.checked = true;
    return changed;
}

std::set<std::string> number_names(const Scenario& scenario) {
    std::set<std::string> names;
    for (const LessonNumber& number : scenario.numbers) names.insert(number.id);
    for (const Variant& variant : scenario.variants)
        for (const LessonNumber& number : variant.numbers) names.insert(variant.id + "." + number.id);
    return names;
}

std::string variant_of(std::string_view number) {
    const std::size_t dot = number.find('.');
    return dot == std::string_view::npos ? "" : std::string(number.substr(0, dot));
}

std::string read_id(const Section& entry, std::set<std::string>& seen, bool free_text) {
    entry.require("id");
    const std::optional<std::string> id = entry.text("id");
    if (!id) return "";
    // An id that files and links can hold.
    const bool plain = id->size() <= 64 && std::all_of(id->begin(), id->end(), [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
                       });
    if (id->empty() || !(plain || free_text)) {
        entry.refuse("id", {"scenario.bad_id", {{"id", *id}}});
        return "";
    }
    if (!seen.insert(*id).second) entry.report("id", {"scenario.id_twice", {{"id", *id}}});
    return *id;
}

std::vector<LessonNumber> read_number_tables(const Section& section, const std::string& folder) {
    std::vector<LessonNumber> numbers;
    std::set<std::string> seen;
    for (const Section& number : section.sections("number")) {
        LessonNumber out;
        out.id = read_id(number, seen);
        out.modelled = number.word("modelled", modelled_figures()).value_or("");
        out.decimals = static_cast<int32_t>(number.integer("decimals", {0, 9}).value_or(1));
        // A lesson's own number: those of variants are of their runs.
        if (number.has("estimate") || !number.sure("estimate")) {
            out.at = number.position_of("id");
            out.estimate = read_estimated(number.section("estimate"), folder);
            for (const char* key : {"sql", "modelled", "rank", "hardware"})
                if (number.has(key))
                    number.report_key(key, {"scenario.estimate_alone", {{"key", number.full(key)}}});
            numbers.push_back(std::move(out));
            continue;
        }
        if (out.modelled.empty() ? !number.has("modelled") && number.sure("modelled")
                                 : is_of_events(out.modelled))
            number.require("sql");
        out.sql = number.text("sql").value_or("");
        out.at = number.position_of(number.has("sql") ? "sql" : "id");
        out.rank = static_cast<int32_t>(number.integer("rank", {0, kMostRanks - 1}).value_or(0));
        out.hardware = read_profile(number, "hardware", folder);
        refuse_for_figure(number, out);
        numbers.push_back(std::move(out));
    }
    return numbers;
}

std::vector<Variant> read_variants(const Section& root, const Section& lesson, const std::string& folder) {
    std::vector<Variant> variants;
    std::set<std::string> seen;
    for (const Section& section : lesson.sections("variant"))
        variants.push_back(read_variant(root, section, folder, seen));
    return variants;
}

void apply_variant(toml::table& root, const std::string& id) {
    toml::table variant;
    if (toml::array* all = root["lesson"]["variant"].as_array())
        for (toml::node& node : *all)
            if (toml::table* table = node.as_table(); table && (*table)["id"].value_or(std::string()) == id)
                variant = std::move(*table);
    for (const std::string_view key : {"lesson", "quiz", "check"}) root.erase(key);
    if (const toml::array* unset = variant["unset"].as_array())
        for (const toml::node& name : *unset) {
            const auto parts = parts_of(name.value_or(std::string()));
            if (toml::table* table = table_of(root, parts, false)) table->erase(parts.back());
        }
    for (const auto& key : set_keys(variant.get("set"))) {
        const auto parts = parts_of(key.name);
        // Moved, not copied: a copy would no longer know where it stands in the file.
        table_of(root, parts, true)
            ->insert_or_assign(toml::key(parts.back(), toml::source_region(key.at)), std::move(*key.value));
    }
}

}  // namespace meshscope::scenario
