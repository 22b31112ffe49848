#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/message.h"
#include "core/comm/call_info.h"

namespace meshscope::comm {

/// Says of a rank between processes that it has waited unusually long: for whom and in which call, and that
/// nobody can know why. First after `first`, then each time when a wait is twice as long as the one that was
/// told last, so that ranks that are slow throughout are told of a few times and no more. Used by the rank's
/// thread.
class LongWaits {
  public:
    using Tell = std::function<void(const Message&)>;
    static constexpr std::chrono::milliseconds kFirst{5'000};

    /// `tell` may be empty. `timeout`: when a wait ends by itself.
    LongWaits(Tell tell, std::chrono::milliseconds timeout, std::chrono::milliseconds first = kFirst);

    /// How long a wait must have lasted before there is something to say.
    std::chrono::milliseconds next() const { return next_; }
    /// Tells, when it is time: "comm.waiting" {rank, peers, doing, waited_s, timeout_s};
    /// "comm.waiting_aside", without `doing`, for what ranks tell each other between their calls.
    void look(std::chrono::milliseconds waited, GlobalRank rank, const std::vector<int64_t>& peers,
              const CallLog& calls);

  private:
    Tell tell_;
    std::chrono::milliseconds timeout_, next_;
};

}  // namespace meshscope::comm
