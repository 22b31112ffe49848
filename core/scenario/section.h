#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/diagnostics.h"

namespace meshscope::scenario {

/// What a whole number or a number may be; both ends count.
struct IntegerRange {
    int64_t least = 0, most = 0;
};
struct NumberRange {
    double least = 0, most = 0;
    bool least_itself = true;  ///< false: must be greater than `least`
};

/// One table of a scenario file, read key by key. Making it reports the keys that the table may not hold
/// (with "did you mean") and those this version does not support; each getter reports a wrong type or an
/// impossible value and then gives nothing. A mistake of a value stands at the value, of an array at the
/// element; what is wrong with a key itself stands at the key.
class Section {
  public:
    /// `table` may be null: an absent table, standing at `where`. `path` is its name in keys(): "train",
    /// "lesson.step"; `place` the same with the numbers of tables in lists, where it has any.
    Section(Diagnostics& diagnostics, const toml::table* table, std::string path, toml::source_position where,
            std::string place = "");

    bool present() const { return table_ != nullptr; }
    bool has(std::string_view key) const { return node(key) != nullptr; }
    /// Whether the key is what the user meant, or left out by the user's wish. False once its value was
    /// refused, and where a misspelt key was probably meant: then what the reader goes on with is a guess,
    /// and what does not fit the guess is no mistake of the user's. Ask after the key was read.
    bool sure(std::string_view key) const;
    template <class... Keys>
    bool sure(std::string_view key, std::string_view next, Keys... more) const {
        return sure(key) && sure(next, more...);
    }
    /// Where a key stands, or the table when it is absent.
    toml::source_position at(std::string_view key) const;
    /// Where its value stands; where the key does, when the file does not say.
    toml::source_position value_at(std::string_view key) const;
    /// The same with the file's name, for mistakes found later: what SQL says is known when it is run.
    SourcePosition position_of(std::string_view key) const;
    SourcePosition position_of_element(std::string_view key, std::size_t index) const {
        return position(element_at(key, index));
    }
    toml::source_position where() const { return where_; }
    /// Where an element of its array stands.
    toml::source_position element_at(std::string_view key, std::size_t index) const;
    /// "train.steps", for messages.
    std::string full(std::string_view key) const;
    /// The same with the table's number in its list, for edits.
    std::string place(std::string_view key) const;

    std::optional<int64_t> integer(std::string_view key, IntegerRange range) const;
    std::optional<double> number(std::string_view key, NumberRange range) const;
    std::optional<bool> boolean(std::string_view key) const;
    std::optional<std::string> text(std::string_view key) const;
    /// One of `words`; with `any_case` in upper or lower case alike, and given as `words` has it.
    std::optional<std::string> word(std::string_view key, std::span<const std::string_view> words,
                                    bool any_case = false) const;
    std::optional<std::vector<int64_t>> integers(std::string_view key, IntegerRange each) const;
    std::optional<std::vector<double>> numbers(std::string_view key) const;
    std::optional<std::vector<std::string>> texts(std::string_view key) const;

    /// A table inside this one, absent or not.
    Section section(std::string_view key) const;
    /// An array of tables.
    std::vector<Section> sections(std::string_view key) const;

    /// Reports that `key` must be there; true when it is. One that was misspelt was reported as that.
    bool require(std::string_view key) const;
    /// Reports a mistake of a value, of the key itself (it should not be there), or of an element of its
    /// array.
    void report(std::string_view key, Message message, Message hint = {}) const;
    void report_key(std::string_view key, Message message, Message hint = {},
                    std::vector<Offer> offers = {}) const;
    /// Reports a mistake of a value together with what could be written instead; each candidate is shown only
    /// if the file with it has that mistake no more, and no other.
    void report_offering(std::string_view key, Message message, std::vector<Offer> offers) const;
    /// The same as report(), where it is not known now what the key was to be: see sure().
    void refuse(std::string_view key, Message message, Message hint = {}) const;
    /// Reports a word that is none of `words`, and where it stands in an array its element; hints at what was
    /// probably meant, `changed(word)` being what the user would write for it.
    void refuse_word(std::string_view key, const std::string& given, std::span<const std::string_view> words,
                     const std::function<Candidate(const std::string&)>& changed,
                     std::optional<std::size_t> element = std::nullopt) const;
    /// Reports a key that means nothing here, and takes back what was said of its value.
    void refuse_foreign(std::string_view key, Message message) const;
    /// Only that.
    void doubt(std::string_view key) const { diagnostics_->doubt(table_, key); }
    /// Reports a mistake of another file that this one names, with its own position.
    void report_at(Diagnostic diagnostic) const;
    /// The same with what could be written instead.
    void report_refused(Refusal refusal) const { diagnostics_->add(std::move(refusal)); }
    void report_element(std::string_view key, std::size_t index, Message message, Message hint = {}) const;
    const toml::node* node(std::string_view key) const { return table_ ? table_->get(key) : nullptr; }
    void wrong_type(std::string_view key, std::string_view wanted, const toml::node& found) const;

    void wrong_element(std::string_view key, std::size_t index, std::string_view wanted,
                       const toml::node& found) const;

  private:
    SourcePosition position(toml::source_position at) const;
    void refuse_unknown_keys() const;
    void refuse_unknown_key(const toml::key& key, const std::vector<std::string_view>& names,
                            std::set<std::string>& guessed) const;
    Diagnostics* diagnostics_;
    const toml::table* table_;
    std::string path_;
    std::string place_;  ///< path_ with the numbers of list elements
    toml::source_position where_;
    bool doubted_ = false;  ///< what stands there is no table, or has another name
};

/// Reports the keys of a section that have no meaning for its kind, which the key `kind_key` says.
void refuse_for_kind(const Section& section, std::initializer_list<std::string_view> names,
                     const std::string& kind, std::string_view kind_key = "kind");

}  // namespace meshscope::scenario
