#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "core/time/machine_links.h"
#include "core/time/profile.h"
#include "core/time/unrecorded.h"
#include "core/trace/trace.h"

namespace meshscope::time {

/// The times of a trace's collectives that left no hops. Of the many alike in a run one is reckoned.
class UnrecordedTimes {
  public:
    /// All three outlive it.
    UnrecordedTimes(const trace::Trace& trace, const Profile& profile, const MachineLinks& links)
        : trace_(trace), profile_(profile), links_(links) {}

    /// Of one call: `ranks` take part (sender and receiver, or the group's), `events` are what some of them
    /// recorded, one at least. Cost of one of a kind: unrecorded_ns(), and O(ranks); else O(events).
    int64_t ns(int32_t group, std::span<const int32_t> ranks, std::span<const trace::Event* const> events);

  private:
    const comm::OwnAlgorithm* own(int32_t members);

    /// Group, whether a sender and its receiver stand apart, op, stream, algorithm, dtype, bytes sent and in
    /// all.
    using Kind = std::tuple<int32_t, bool, CollectiveOp, Stream, Algorithm, DType, int64_t, int64_t>;

    const trace::Trace& trace_;
    const Profile& profile_;
    const MachineLinks& links_;
    std::map<Kind, int64_t> known_;
    std::shared_ptr<const comm::OwnAlgorithm> own_;
};

}  // namespace meshscope::time
