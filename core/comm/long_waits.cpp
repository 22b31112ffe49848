#include "core/comm/long_waits.h"

#include <utility>

#include "core/base/diagnosis.h"

namespace meshscope::comm {

using std::chrono::milliseconds;

LongWaits::LongWaits(Tell tell, milliseconds timeout, milliseconds first)
    : tell_(std::move(tell)), timeout_(timeout), notifier_(tell_ ? first : milliseconds::max()) {}

void LongWaits::look(milliseconds waited, GlobalRank rank, const std::vector<int64_t>& peers,
                     const CallLog& calls) {
    if (!tell_ || !notifier_.is_due(waited)) return;
    Message message{"comm.waiting_aside",
                    {{"rank", int64_t{rank.value}},
                     {"peers", peers},
                     {"n_peers", static_cast<int64_t>(peers.size())},
                     {"waited_s", WaitNotifier::seconds(waited)},
                     {"timeout_s", WaitNotifier::seconds(timeout_)}}};
    if (calls.doing().group) {
        message.id = "comm.waiting";
        message.args.push_back({"doing", describe(report_of(calls.doing()))});
    }
    tell_(message);
}

}  // namespace meshscope::comm
