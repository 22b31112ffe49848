#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.h"

namespace meshscope::scenario {

/// One key of a scenario with another value. `key` is its dotted name, with the number of the table in a list
/// where it stands in one; std::monostate takes the key away.
struct Edit {
    using Value = std::variant<std::monostate, int64_t, bool, std::string, std::vector<int64_t>,
                               std::vector<std::string>>;
    std::string key;
    Value value;
};

/// What a user could write instead: edits that belong together.
using Candidate = std::vector<Edit>;

/// Candidates of one kind, the nearest to what the file says first; of those that pass every rule the first
/// `wanted` are shown.
struct Offer {
    std::vector<Candidate> candidates;
    std::size_t wanted = 1;
};

/// Offers of another number for `key`: the nearest below and the nearest above `now`, from 1 to `most`, of
/// those that divide by `step` and that `good` accepts. At most kTried of each are ever tried.
std::vector<Offer> offers_around(const std::string& key, int64_t now, int64_t step, int64_t most,
                                 const std::function<bool(int64_t)>& good = {});

/// Both lists as one.
std::vector<Offer> joined(std::vector<Offer> first, std::vector<Offer> second);

/// A mistake and what could be written instead.
struct Refusal {
    Diagnostic diagnostic;
    std::vector<Offer> offers;
};

/// Gives each refusal that has offers its hint: "scenario.hint.offers" {n, changes} of the n candidates with
/// which the mistake is gone, no other has come and none is left of a key that is written, which `read` finds
/// out by reading the whole changed file;
/// where there is none, "scenario.hint.no_offer" {change} and, as {cause}, the mistake that the first
/// candidate would bring. `read` gives the mistakes of a table. Cost: at most kMostReads readings.
void resolve_offers(std::vector<Refusal>& refusals, const toml::table& table,
                    const std::function<std::vector<Diagnostic>(const toml::table&)>& read);

}  // namespace meshscope::scenario
