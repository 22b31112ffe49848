#include "core/base/resolve_offers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/cause.h"
#include "core/base/nearest.h"

namespace meshscope {
namespace {

/// Readings of a file's whole; where there are thousands of mistakes, each reading takes long.
int most_reads(std::size_t mistakes, int most) {
    return std::min(most,
                    static_cast<int>(std::max<std::size_t>(16384 / std::max<std::size_t>(mistakes, 1), 8)));
}

/// The parts of a place that place_of() made.
std::vector<std::string> parts_of(const std::string& key) {
    std::vector<std::string> parts(1);
    bool quoted = false;
    for (std::size_t i = 0; i < key.size(); ++i) {
        if (quoted && key[i] == '\\' && i + 1 < key.size())
            parts.back() += key[++i];
        else if (key[i] == '"')
            quoted = !quoted;
        else if (key[i] == '.' && !quoted)
            parts.emplace_back();
        else
            parts.back() += key[i];
    }
    return parts;
}

/// Without the number of a table in its list: "call.elements".
std::string shown_key(const std::string& key) {
    std::string text;
    for (const std::string& part : parts_of(key))
        if (part.find_first_not_of("0123456789") != std::string::npos)
            text += (text.empty() ? "" : ".") + part;
    return text;
}

std::string shown(const Edit& edit) {
    const auto list = [](const auto& items, const char* quote) {
        std::ostringstream text;
        for (const auto& item : items) text << (text.tellp() > 0 ? ", " : "") << quote << item << quote;
        return "[" + text.str() + "]";
    };
    const std::string key = shown_key(edit.key);
    if (const auto* n = std::get_if<int64_t>(&edit.value)) return key + " = " + std::to_string(*n);
    if (const auto* b = std::get_if<bool>(&edit.value)) return key + (*b ? " = true" : " = false");
    if (const auto* s = std::get_if<std::string>(&edit.value)) return key + " = \"" + *s + "\"";
    if (const auto* v = std::get_if<std::vector<int64_t>>(&edit.value)) return key + " = " + list(*v, "");
    if (const auto* v = std::get_if<std::vector<std::string>>(&edit.value))
        return key + " = " + list(*v, "\"");
    return "";  // a key that is taken away goes with another that takes its place
}

/// "mesh.shape = [4], mesh.names = ["shard"]".
std::string shown(const Candidate& candidate) {
    std::string text;
    for (const Edit& edit : candidate)
        if (const std::string one = shown(edit); !one.empty()) text += (text.empty() ? "" : ", ") + one;
    return text;
}

/// The element of an array, or the value of a table, that a part of a key names; null where there is none.
template <class Node>
auto below(Node* at, const std::string& part) -> Node* {
    if (auto* const table = at->as_table()) return table->get(part);
    auto* const list = at->as_array();
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (list == nullptr || error != std::errc() || end != part.data() + part.size()) return nullptr;
    return list->get(index);
}

/// What holds the last part of a key, a table or an array; the tables round it are made where they are not
/// there.
toml::node* holder_of(toml::table& root, const std::vector<std::string>& parts) {
    toml::node* at = &root;
    for (std::size_t i = 0; at != nullptr && i + 1 < parts.size(); ++i) {
        if (toml::table* const table = at->as_table(); table && !table->get(parts[i]))
            table->insert(parts[i], toml::table{});
        at = below(at, parts[i]);
    }
    return at;
}
toml::table* table_of(toml::table& root, const std::vector<std::string>& parts) {
    toml::node* const holder = holder_of(root, parts);
    return holder ? holder->as_table() : nullptr;
}

void apply(toml::table& root, const Edit& edit) {
    const std::vector<std::string> parts = parts_of(edit.key);
    toml::node* const holder = holder_of(root, parts);
    if (!holder) return;
    toml::table* const table = holder->as_table();
    const auto put = [&](auto&& value) {
        if (table)
            table->insert_or_assign(parts.back(), std::forward<decltype(value)>(value));
        else if (toml::array* const array = holder->as_array(); array && below(holder, parts.back()))
            array->replace(array->cbegin() + std::stol(parts.back()), std::forward<decltype(value)>(value));
    };
    const auto list = [&](const auto& items) {
        toml::array array;
        for (const auto& item : items) array.push_back(item);
        put(std::move(array));
    };
    if (const auto* v = std::get_if<std::vector<int64_t>>(&edit.value))
        list(*v);
    else if (const auto* w = std::get_if<std::vector<std::string>>(&edit.value))
        list(*w);
    else if (const auto* n = std::get_if<int64_t>(&edit.value))
        put(*n);
    else if (const auto* b = std::get_if<bool>(&edit.value))
        put(*b);
    else if (const auto* s = std::get_if<std::string>(&edit.value))
        put(*s);
    else if (table)
        table->erase(parts.back());
}

/// A key under its right name, or in its right table.
void move(toml::table& root, const std::string& from, const std::string& to) {
    const std::vector<std::string> parts = parts_of(from), into_parts = parts_of(to);
    toml::table* const table = table_of(root, parts);
    toml::node* const value = table ? table->get(parts.back()) : nullptr;
    toml::table* const into = value ? table_of(root, into_parts) : nullptr;
    if (!into) return;
    into->insert_or_assign(into_parts.back(), *value);
    table->erase(parts.back());
}

bool is_there(const toml::table& root, const std::string& place) {
    const std::vector<std::string> parts = parts_of(place);
    const toml::node* at = &root;
    for (std::size_t i = 0; i < parts.size() && at; ++i) at = below(at, parts[i]);
    return at != nullptr;
}

/// Where a key stands in the file; nowhere when it is not in it.
toml::source_position place_of_key(const toml::table& root, const std::string& dotted) {
    const toml::node* at = &root;
    const std::vector<std::string> parts = parts_of(dotted);
    for (std::size_t i = 0; i + 1 < parts.size() && at; ++i) at = below(at, parts[i]);
    const toml::table* const table = at ? at->as_table() : nullptr;
    if (table == nullptr) return {};
    const auto found = table->find(parts.back());
    return found == table->end() ? toml::source_position{} : found->first.source().begin;
}

/// A complaint, whatever numbers it names: the same rule broken by the same key, and for the same cause.
std::string rule_of(const Message& message) {
    const MessageValue *const key = message.find("key"), *const variant = message.find("id");
    const std::optional<Message> cause = cause_in(message);
    return message.id + " " + (key ? to_text(*key) : "") + (variant ? " " + to_text(*variant) : "") +
           (cause ? " " + rule_of(*cause) : "");
}

using Counts = std::map<std::string, int>;

Counts counts_of(const std::vector<Diagnostic>& found) {
    Counts counts;
    for (const Diagnostic& d : found) ++counts[rule_of(d.message)];
    return counts;
}

/// Finds out what a candidate does.
class Trial {
  public:
    Trial(const toml::table& table, const std::vector<Diagnostic>& before, const ReadMistakes& read,
          int most_readings, const ReadMistakes& rest)
        : table_(table),
          before_(counts_of(before)),
          read_(read),
          rest_(rest),
          left_(most_reads(before.size(), most_readings)) {}

    bool exhausted() const { return left_ <= 0; }
    /// Whether the key that a guess moves another to is there: it cannot be written twice.
    bool is_taken(const Guess& guess) const {
        return !guess.moved_from.empty() && is_there(table_, guess.change.front().key);
    }

    /// The mistake that stands in the way, which is `refused` itself where the candidate does not mend it;
    /// nothing where the candidate mends it and brings no other.
    std::optional<Message> obstacle(const Candidate& candidate, const Message& refused,
                                    const std::string& moved_from = "") {
        --left_;
        toml::table changed = table_;
        if (!moved_from.empty())
            move(changed, moved_from, candidate.front().key);
        else
            for (const Edit& edit : candidate) apply(changed, edit);
        auto found = first_other(candidate, read_(changed), before_, rule_of(refused));
        if (found || !rest_) return found;
        const std::vector<Diagnostic> more = rest_(changed);
        if (more.empty()) return std::nullopt;
        if (!before_of_rest_) before_of_rest_ = counts_of(rest_(table_));
        return first_other(candidate, more, *before_of_rest_, "");
    }

  private:
    /// The first mistake that was not there before, or is one of what the candidate writes. Of `refused`, the
    /// rule that is to be mended, there must be one less.
    std::optional<Message> first_other(const Candidate& candidate, const std::vector<Diagnostic>& found,
                                       const Counts& before, const std::string& refused) const {
        Counts now;
        for (const Diagnostic& d : found) {
            const std::string rule = rule_of(d.message);
            const auto was = before.find(rule);
            const int allowed = was == before.end() ? 0 : was->second - (rule == refused ? 1 : 0);
            if (++now[rule] > allowed || is_about(candidate, d)) return d.message;
        }
        return std::nullopt;
    }

    /// Whether a mistake is one of a key that the candidate writes: then what it writes is refused still, if
    /// not for the same reason.
    bool is_about(const Candidate& candidate, const Diagnostic& found) const {
        const MessageValue* const key = found.message.find("key");
        return std::ranges::any_of(candidate, [&](const Edit& edit) {
            if (key && to_text(*key) == edit.key) return true;  // those of lists say no number
            // In a changed table values stand nowhere, and their mistakes where their keys do.
            const toml::source_position at = place_of_key(table_, edit.key);
            return at.line > 0 && static_cast<int>(at.line) == found.position.line &&
                   static_cast<int>(at.column) == found.position.column;
        });
    }

    const toml::table& table_;
    Counts before_;
    const ReadMistakes& read_;
    const ReadMistakes& rest_;
    std::optional<Counts> before_of_rest_;
    int left_;  ///< readings
};

/// The first guess that passes; else the first, and what comes then.
void resolve_guesses(Refusal& refusal, Trial& trial) {
    std::optional<Message> first_obstacle;
    for (const Guess& guess : refusal.guesses) {
        if (trial.exhausted()) break;
        if (trial.is_taken(guess)) {
            refusal.diagnostic.hint = {"scenario.hint.key_is_there",
                                       {{"guess", shown_key(guess.change.front().key)}}};
            return;
        }
        std::optional<Message> obstacle =
            trial.obstacle(guess.change, refusal.diagnostic.message, guess.moved_from);
        if (!obstacle) {
            refusal.diagnostic.hint = guess.hint;
            return;
        }
        if (!first_obstacle) first_obstacle = std::move(obstacle);
    }
    if (!first_obstacle) return;
    Message then = refusal.guesses.front().hint;
    then.id = refusal.guesses.front().id_then;
    refusal.diagnostic.hint = with_cause(std::move(then), *first_obstacle);
}

/// Leaves out the known words that are refused in this file.
void resolve_known(Refusal& refusal, Trial& trial) {
    std::string pass;
    std::size_t passing = 0;
    for (const KnownWord& known : refusal.known) {
        if (trial.exhausted()) return;
        if (trial.obstacle(known.change, refusal.diagnostic.message)) continue;
        pass += (passing++ == 0 ? "" : ", ") + known.word;
    }
    if (passing > 0 && passing < refusal.known.size())
        refusal.diagnostic.hint = {"scenario.hint.known_here", {{"known", pass}}};
}

}  // namespace

std::string place_of(const std::string& place, std::string_view key) {
    const bool bare = !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-';
    });
    std::string part;
    for (const char c : key) {
        if (c == '"' || c == '\\') part += '\\';
        part += c;
    }
    return (place.empty() ? "" : place + ".") + (bare ? part : '"' + part + '"');
}

std::string guess_key(Refusal& refusal, const toml::table& table, const toml::key& key,
                      const std::string& place, std::span<const std::string_view> names,
                      std::set<std::string>& guessed) {
    const std::vector<std::string> near = near_words(key.str(), {names.begin(), names.end()});
    const toml::node* const value = table.get(key.str());
    std::string meant;
    for (const std::string& guess : near) {
        const bool first = guess == near.front();
        const toml::node* const there = table.get(guess);
        // A key cannot be written twice; two lists of tables make one.
        const bool clash = there && !(there->is_array_of_tables() && value && value->is_array_of_tables());
        if (first && (clash || guessed.contains(guess))) {
            refusal.diagnostic.hint = {"scenario.hint.key_is_there", {{"guess", guess}}};
            break;
        }
        if (first) {
            guessed.insert(guess);
            refusal.diagnostic.hint = {"scenario.hint.did_you_mean", {{"guess", guess}}};
        }
        if (there) continue;  // joining two lists is left to the user
        if (first) meant = guess;
        refusal.guesses.push_back({{"scenario.hint.did_you_mean", {{"guess", guess}}},
                                   "scenario.hint.did_you_mean_then",
                                   {{place_of(place, guess), {}}},
                                   place_of(place, key.str())});
    }
    return meant;
}

void guess_word(Refusal& refusal, const std::string& given, std::span<const std::string_view> words,
                const std::function<Candidate(const std::string&)>& changed) {
    for (const std::string& guess : near_words(given, {words.begin(), words.end()}))
        refusal.guesses.push_back({{"scenario.hint.did_you_mean", {{"guess", guess}}},
                                   "scenario.hint.did_you_mean_then",
                                   changed(guess),
                                   ""});
    if (!refusal.guesses.empty()) {
        refusal.diagnostic.hint = refusal.guesses.front().hint;
        return;
    }
    for (const std::string_view word : words)
        refusal.known.push_back({std::string(word), changed(std::string(word))});
}

void resolve_offers(std::vector<Refusal>& refusals, const toml::table& table, const ReadMistakes& read,
                    int most_readings, const ReadMistakes& rest) {
    std::vector<Diagnostic> before;
    for (const Refusal& refusal : refusals) before.push_back(refusal.diagnostic);
    Trial trial(table, before, read, most_readings, rest);
    for (Refusal& refusal : refusals) {
        resolve_guesses(refusal, trial);
        resolve_known(refusal, trial);
        std::string changes;
        int64_t shown_in_all = 0;
        std::optional<std::pair<Candidate, Message>> first_obstacle;
        for (const Offer& offer : refusal.offers) {
            std::size_t shown_here = 0;
            for (const Candidate& candidate : offer.candidates) {
                if (shown_here == offer.wanted || trial.exhausted()) break;
                const auto obstacle = trial.obstacle(candidate, refusal.diagnostic.message);
                if (!obstacle) {
                    changes += (changes.empty() ? "" : "; ") + shown(candidate);
                    ++shown_here;
                    ++shown_in_all;
                } else if (!first_obstacle) {
                    first_obstacle.emplace(candidate, *obstacle);
                }
            }
        }
        if (!changes.empty())
            refusal.diagnostic.hint = {"scenario.hint.offers", {{"n", shown_in_all}, {"changes", changes}}};
        else if (first_obstacle)
            refusal.diagnostic.hint =
                with_cause({"scenario.hint.no_offer", {{"change", shown(first_obstacle->first)}}},
                           first_obstacle->second);
    }
}

}  // namespace meshscope
