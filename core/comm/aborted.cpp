#include "core/comm/aborted.h"

#include "core/base/cause.h"
#include "core/base/diagnosis.h"

namespace meshscope::comm {

bool is_told_by_all(const Message& failure) {
    return is_seen_between_ranks(failure.id);
}

CommError aborted(GlobalRank rank, int32_t first, const Message& cause) {
    const MessageArg who{"rank", int64_t{first}};
    if (cause.id.empty()) return CommError({"comm.aborted_unknown", {who}}, rank, true);
    return CommError(with_cause({"comm.aborted", {who}}, cause), rank, true);
}

void throw_aborted(GlobalRank rank, int32_t first, const Message& cause) {
    if (is_told_by_all(cause)) throw CommError(cause, rank, true);
    throw aborted(rank, first, cause);
}

}  // namespace meshscope::comm
