#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace meshscope {

/// One key of a scenario with another value. `key` is its dotted name, with the number of the table in a list
/// where it stands in one, or of an element of its array at the end; std::monostate takes the key away.
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

/// Candidates of one offer that are ever tried.
inline constexpr std::size_t kMostCandidates = 48;

/// Offers of another number for `key`: the nearest below and the nearest above `now`, from 1 to `most`, of
/// those that divide by `step` and that `good` accepts. At most kMostCandidates each.
std::vector<Offer> offers_around(const std::string& key, int64_t now, int64_t step, int64_t most,
                                 const std::function<bool(int64_t)>& good = {});

/// Both lists as one.
std::vector<Offer> joined_offers(std::vector<Offer> first, std::vector<Offer> second);

}  // namespace meshscope
