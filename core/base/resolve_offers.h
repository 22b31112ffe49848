#pragma once

#include <toml++/toml.h>

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/offer.h"

namespace meshscope {

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

/// A mistake of a TOML file and what could be written instead.
struct Refusal {
    Diagnostic diagnostic;
    std::vector<Offer> offers;
    std::vector<Guess> guesses;    ///< the most likely first
    std::vector<KnownWord> known;  ///< in the order of its hint
};

/// `key` in the table at `place` ("" for the top), as an Edit names it: "train.steps", and in quotes where it
/// has other characters than a bare key of TOML, "set.\"train.steps\"".
std::string place_of(const std::string& place, std::string_view key);

/// What was probably meant by `key`, which `table`, standing at `place`, does not know: the nearest of
/// `names` as guesses of `refusal`, which moves the key there. Where the nearest one is there already, or was
/// `guessed` for another key of the table, the hint says that. Gives the key that this one seems to be, of
/// which it need not be told that it is missing; "" where there is none.
std::string guess_key(Refusal& refusal, const toml::table& table, const toml::key& key,
                      const std::string& place, std::span<const std::string_view> names,
                      std::set<std::string>& guessed);

/// What was probably meant by the word `given`: the nearest of `words` as guesses of `refusal`,
/// `changed(word)` being what the user would write for it; with none near all of them, as known ones.
void guess_word(Refusal& refusal, const std::string& given, std::span<const std::string_view> words,
                const std::function<Candidate(const std::string&)>& changed);

/// What is wrong with a table.
using ReadMistakes = std::function<std::vector<Diagnostic>(const toml::table&)>;

/// Gives each refusal that has offers its hint: "scenario.hint.offers" {n, changes} of the n candidates with
/// which the mistake is gone, no other has come and none is left of a key that is written, which `read` finds
/// out by reading the whole changed file;
/// where there is none, "scenario.hint.no_offer" {change} and, as {cause}, the mistake that the first
/// candidate would bring. Guesses are tried in the same way: the first that passes is the hint, with none the
/// first, with its id_then and, as {cause}, the mistake that comes then. Of known words those that
/// pass are "scenario.hint.known_here" {known}, if there are some and not all. `read` gives the mistakes of a
/// table; `rest`, where there is one, more of them, which takes longer and is asked only of what passes until
/// then. Cost: at most `most_readings`, fewer of a file with thousands of mistakes; what is not tried then
/// keeps the hint that it has.
void resolve_offers(std::vector<Refusal>& refusals, const toml::table& table, const ReadMistakes& read,
                    int most_readings = 256, const ReadMistakes& rest = {});

}  // namespace meshscope
