#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"
#include "core/base/recorded_failure.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// A hop by the rank that received it and its index there.
struct HopRef {
    int32_t rank = 0;
    std::size_t hop = 0;
};

/// How a rank stood when its run broke off.
struct RankEnd {
    enum class Stands : uint8_t {
        unrecorded,  ///< nothing is known of it
        running,     ///< it was in no call: it did something of its own
        waiting,     ///< in a call, for others
        in_call,     ///< in a call that all others have reached too
        finished,    ///< it had come to its end
        lost,        ///< it had died
        stalled      ///< it had stopped, without ending
    };
    Stands stands = Stands::unrecorded;
    bool named = false;              ///< the diagnosis names it
    int32_t call = -1;               ///< event: the call that it was in; -1: none
    int32_t last = -1;               ///< event: what had ended last; -1: nothing
    std::vector<int32_t> waits_for;  ///< ranks, ascending
    std::vector<int32_t> open;       ///< events: all calls that had not ended, ascending
    /// Of one that died or stopped: the hops of those calls that it still took part in.
    std::vector<HopRef> hops;
    /// How many ranks that wait themselves stand between it and one that does not, or that is in the ring;
    /// 0: it waits for such a one itself. -1: it does not wait, or is in the ring.
    int32_t through = -1;
};

/// Who waits for whom in a run that failed, by rank.
struct WaitGraph {
    std::vector<RankEnd> ranks;
    std::vector<int32_t> ring;         ///< of a deadlock: 0, 1, 2 means 0 → 1 → 2 → 0
    std::vector<std::string> differs;  ///< of a mismatch: in what the calls differ
    std::vector<CallReport> calls;     ///< of a mismatch, by rank, as it was called; no op: not in it
    /// Ranks that a list tells together, ascending: of a mismatch those that make the same call; else those
    /// that wait for the same ranks in the same call, first those whose rank waited for does not wait itself.
    std::vector<std::vector<int32_t>> rows;
    /// Who waits for whom: a sentence for those that wait for the same ranks, where there are up to three;
    /// else one for the ring, one for those that wait for somebody who does not (or whose waits lead round a
    /// circle that the diagnosis does not name), and one for all behind them.
    std::vector<Message> sentences;
    bool certain = false;  ///< the engine saw it, not a clock, and the record did not have to tell it

    const RankEnd* at(int32_t rank) const {
        return rank >= 0 && static_cast<std::size_t>(rank) < ranks.size()
                   ? &ranks[static_cast<std::size_t>(rank)]
                   : nullptr;
    }
};

/// The graph as the diagnosis of the engine tells it. Of ranks that it knows nothing of the record tells: a
/// call that had begun and not ended waits for the members of its group that had not reached it, or that died
/// in it. Cost: a pass over the record, the members of each different call, and a sort of the ranks by whom
/// they wait for.
WaitGraph wait_graph(const trace::Trace& trace, const RecordedFailure& failure);

/// From when on a rank stood as it did: the begin of its call on this clock, or the end of what ended last;
/// of one that died or stopped not before the last hop in which it took part (measured: which it received;
/// when the other took what it sent says nothing of it). 0 where nothing is recorded of it.
int64_t stood_ns(const time::Clock& clock, const WaitGraph& graph, int32_t rank);

/// "reduce_scatter net2, #10": a call in short, the same in every language.
std::string call_in_short(const trace::Trace& trace, const trace::Event& call);

}  // namespace meshscope::view
