#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/memo.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {

/// The same call as another run made it: the one of the same op, step, phase, unit, micro-batch and rule on
/// the same rank, counted among those that are alike. Nothing where the other run has none. Cost: O(events of
/// the rank in both).
std::optional<EventRef> same_call(const trace::Trace& trace, EventRef call, const trace::Trace& other);

/// A part of a member's buffer: which ranks' data is in it, and its first number.
struct CallCell {
    int32_t count = 0;  ///< ranks whose data is in it; 0: nothing has come yet
    uint64_t from = 0;  ///< bit g: group rank g's (groups of up to 64)
    float value = 0;
    bool known = false;  ///< `value` was recorded
};

/// What some hops changed when they landed.
struct CallChange {
    int32_t member = 0, column = 0;  ///< place in CallLandings::cells
    CallCell cell;                   ///< as it stands from then on
};

/// Hops that land together: those of one round, or at one time.
struct Landing {
    int64_t begin_ns = 0, end_ns = 0;  ///< since the call's begin: the first leaves, the last has landed
    int32_t round = 0;
    std::size_t first = 0, last = 0;  ///< its changes, in CallLandings::changes
    std::vector<std::pair<int32_t, int32_t>>
        links;  ///< group ranks: from, to; of more than kMostLinks the first
    std::size_t n_links = 0;
    int64_t bytes = 0;  ///< of one hop
    bool even = true;   ///< all hops carry as many
    static constexpr std::size_t kMostLinks = 64;
    friend bool operator==(const Landing&, const Landing&) = default;
};

/// A call's buffers from hop to hop on a clock, as a matrix of members by columns. Columns are the owners'
/// parts where parts have owners, else as many even parts as there are members (as torch.chunk cuts),
/// whatever an algorithm sends at a time: so those of several algorithms compare. In a cell is what is in all
/// of it.
struct CallLandings {
    CollectiveOp op = CollectiveOp::barrier;
    Algorithm algorithm = Algorithm::none;
    std::vector<int32_t> ranks;   ///< the group's, in its order
    std::vector<int32_t> events;  ///< of each; -1: its record has no such call
    int64_t elements = 0;         ///< of the buffer that is cut
    std::vector<int64_t> edges;   ///< where columns begin, and the end
    int32_t rounds = 0;
    int64_t begin_ns = 0;         ///< on the clock
    int64_t length_ns = 0;        ///< until the last member's event has ended
    /// Of a group of more than kMaskBits members these stay empty, as only how many parts are complete is
    /// told.
    std::vector<CallCell> cells;  ///< before the first hop: by member, then column
    std::vector<int32_t> wanted;  ///< how many ranks must be in a cell; 0: no part of the result. As cells
    std::vector<CallChange> changes;
    std::vector<Landing> landings;  ///< in order of time
    /// How many of the `all` parts of the result are complete, from each time on: at most kMostPoints of
    /// them.
    std::vector<std::pair<int64_t, int64_t>> complete;
    int64_t all = 0;
    static constexpr std::size_t kMostPoints = 512;

    std::size_t columns() const { return edges.empty() ? 0 : edges.size() - 1; }
    std::size_t at(std::size_t member, std::size_t column) const { return member * columns() + column; }
    /// How many parts of the result are complete then.
    int64_t complete_at(int64_t since_begin_ns) const;
    bool done() const { return !complete.empty() && complete.back().second >= all; }
};

/// Which collectives have parts that travel between all members: not sends, and no barrier.
bool has_parts(CollectiveOp op);

/// The call of an event, hop by hop; values only where the record kept them, in groups of up to 8. Found once
/// for each call where there is a memo. Cost: O(hops · (log hops + columns of a hop)); of a large group about
/// 50 B a hop while it is found.
std::shared_ptr<const CallLandings> call_landings(const trace::Trace& trace, const time::Clock& clock,
                                                  EventRef call, Memo* memo);

}  // namespace meshscope::view
