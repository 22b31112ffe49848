#pragma once

#include <toml++/toml.h>

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/offer.h"

namespace meshscope::scenario {

/// What was probably meant: the hint that says so, and the change that it means.
struct Guess {
    Message hint;
    std::string id_then;     ///< the hint's where the change brings another mistake, its {cause}
    Candidate change;        ///< where `moved_from` is not "", its one key takes the value of that key,
    std::string moved_from;  ///< which goes
};

/// The words that a key can have, as changes, where none of them is near the one that it has.
struct KnownWord {
    std::string word;
    Candidate change;
};

/// A mistake and what could be written instead.
struct Refusal {
    Diagnostic diagnostic;
    std::vector<Offer> offers;
    std::vector<Guess> guesses;    ///< the most likely first
    std::vector<KnownWord> known;  ///< in the order of its hint
};

/// Collects every mistake of one file.
class Diagnostics {
  public:
    explicit Diagnostics(std::string file) : file_(std::move(file)) {}
    const std::string& file() const { return file_; }
    void add(toml::source_position at, Message message, Message hint = {}, std::vector<Offer> offers = {});
    void add(Diagnostic diagnostic) { add(Refusal{std::move(diagnostic), {}, {}, {}}); }
    void add(Refusal refusal) { found_.push_back(std::move(refusal)); }
    /// Takes back what was said of a value that stands in `region`, or of its key at `key`.
    void take_back(toml::source_position key, toml::source_region region);
    bool empty() const { return found_.empty(); }
    /// All of them, with what is offered instead; for resolve_offers().
    std::vector<Refusal>& refusals() { return found_; }
    /// All of them in file order.
    std::vector<Diagnostic> take();

    /// Whether `table` was not looked at before; from now on it was.
    bool first_look_at(const toml::table* table) { return looked_at_.insert(table).second; }
    /// Notes that nobody knows what `key` of `table` was to be: its value was refused, or its name misspelt.
    void doubt(const toml::table* table, std::string_view key) { doubted_.emplace(table, key); }
    bool is_doubted(const toml::table* table, std::string_view key) const {
        return doubted_.count({table, std::string(key)}) > 0;
    }

  private:
    std::string file_;
    std::vector<Refusal> found_;
    std::set<const toml::table*> looked_at_;
    std::set<std::pair<const toml::table*, std::string>> doubted_;
};

/// Gives each refusal that has offers its hint: "scenario.hint.offers" {n, changes} of the n candidates with
/// which the mistake is gone, no other has come and none is left of a key that is written, which `read` finds
/// out by reading the whole changed file;
/// where there is none, "scenario.hint.no_offer" {change} and, as {cause}, the mistake that the first
/// candidate would bring. Guesses are tried in the same way: the first that passes is the hint, with none the
/// first, with its id_then and, as {cause}, the mistake that comes then. Of known words those that
/// pass are "scenario.hint.known_here" {known}, if there are some and not all. `read` gives the mistakes of a
/// table. Cost: at most 256 readings, fewer of a file with thousands of mistakes.
void resolve_offers(std::vector<Refusal>& refusals, const toml::table& table,
                    const std::function<std::vector<Diagnostic>(const toml::table&)>& read);

/// The hint for a word that is not known: what was probably meant, else what there is.
Message hint_for(std::string_view word, std::span<const std::string_view> known);

}  // namespace meshscope::scenario
