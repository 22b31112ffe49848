#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/message.h"
#include "core/base/wait_notifier.h"
#include "core/comm/issued_call.h"

namespace meshscope::comm {

/// Says of a rank between processes that it has waited unusually long: for whom and in which call, and that
/// nobody can know why. As often as WaitNotifier says. Used by the rank's thread.
class LongWaits {
  public:
    using Tell = std::function<void(const Message&)>;

    /// `tell` may be empty. `timeout`: when a wait ends by itself.
    LongWaits(Tell tell, std::chrono::milliseconds timeout,
              std::chrono::milliseconds first = WaitNotifier::kFirst);

    /// How long a wait must have lasted before there is something to say.
    std::chrono::milliseconds next() const { return notifier_.next(); }
    /// Tells, when it is time: "comm.waiting" {rank, peers, n_peers, doing, waited_s, timeout_s};
    /// "comm.waiting_aside", without `doing`, for what ranks tell each other between their calls.
    void look(std::chrono::milliseconds waited, GlobalRank rank, const std::vector<int64_t>& peers,
              const CallLog& calls);

  private:
    Tell tell_;
    std::chrono::milliseconds timeout_;
    WaitNotifier notifier_;
};

}  // namespace meshscope::comm
