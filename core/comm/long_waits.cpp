#include "core/comm/long_waits.h"

#include <utility>

#include "core/base/diagnosis.h"

namespace meshscope::comm {

using std::chrono::milliseconds;

LongWaits::LongWaits(Tell tell, milliseconds timeout, milliseconds first)
    : tell_(std::move(tell)), timeout_(timeout), next_(tell_ ? first : milliseconds::max()) {}

void LongWaits::look(milliseconds waited, GlobalRank rank, const std::vector<int64_t>& peers,
                     const CallLog& calls) {
    if (!tell_ || waited < next_) return;
    next_ = 2 * waited;
    const auto seconds = [](milliseconds time) {
        return static_cast<double>(time.count() / 100) / 10;  // a tenth is as much as anybody reads
    };
    Message message{"comm.waiting_aside",
                    {{"rank", int64_t{rank.value}},
                     {"peers", peers},
                     {"waited_s", seconds(waited)},
                     {"timeout_s", seconds(timeout_)}}};
    if (calls.doing().group) {
        message.id = "comm.waiting";
        message.args.push_back({"doing", describe(report_of(calls.doing()))});
    }
    tell_(message);
}

}  // namespace meshscope::comm
