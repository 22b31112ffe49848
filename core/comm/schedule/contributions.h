#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace meshscope::comm {

/// Sets of ranks with how often each is in them (once, or more than once), each kept once and known by its
/// number, so that equal ones are compared and combined in the time of a number.
class Contributions {
  public:
    using Id = int32_t;
    static constexpr Id kNone = 0;

    explicit Contributions(int32_t ranks);

    Id of(int32_t rank);
    /// Both together: a rank that is in both is there more than once.
    Id combined(Id a, Id b);
    /// Ranks 0 … p-1, each once.
    Id all();
    /// The ranks of `wanted` that are not in `found`, ascending.
    std::vector<int32_t> missing(Id found, Id wanted) const;
    /// Those in it that are not in `wanted`.
    std::vector<int32_t> beyond(Id found, Id wanted) const { return missing(wanted, found); }
    std::vector<int32_t> twice(Id found) const;

  private:
    using Counts = std::vector<uint8_t>;  ///< by rank: 0, 1, or 2 for more
    Id id_of(const Counts& counts);

    int32_t ranks_;
    std::vector<Counts> sets_;
    std::map<Counts, Id> ids_;
    std::map<std::pair<Id, Id>, Id> combined_;
};

}  // namespace meshscope::comm
