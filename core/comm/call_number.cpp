#include "core/comm/call_number.h"

#include <string>

#include "core/base/kinds.h"

namespace meshscope::comm {
namespace {

/// The same in words: "all_reduce(sum, float32)", "broadcast(src=1, float32)".
std::string words_of(CallNumber call, std::span<const GlobalRank> ranks) {
    const auto reduce_op = static_cast<ReduceOp>((call.value >> 8) & 0xff);
    const auto root = static_cast<int64_t>(call.value >> 24) - 1;
    std::string text(name(static_cast<CollectiveOp>(call.value & 0xff)));
    text += '(';
    if (reduce_op != ReduceOp::none) text += std::string(name(reduce_op)) + ", ";
    if (root >= 0) text += "src=" + std::to_string(ranks[static_cast<std::size_t>(root)].value) + ", ";
    return text + std::string(name(static_cast<DType>((call.value >> 16) & 0xff))) + ")";
}

}  // namespace

CommError calls_differ(CallNumber call, GlobalRank rank, CallNumber peer_call, GlobalRank peer,
                       std::span<const GlobalRank> ranks) {
    return CommError({"comm.calls_differ",
                      {{"rank", int64_t{rank.value}},
                       {"call", words_of(call, ranks)},
                       {"peer", int64_t{peer.value}},
                       {"peer_call", words_of(peer_call, ranks)}}},
                     rank);
}

}  // namespace meshscope::comm
