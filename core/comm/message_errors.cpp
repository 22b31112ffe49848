#include "core/comm/message_errors.h"

namespace meshscope::comm {

void check_rank(GlobalRank rank, int32_t world_size) {
    if (rank.value < 0 || rank.value >= world_size)
        throw InvalidArgument({"comm.rank_outside_world",
                               {{"rank", int64_t{rank.value}}, {"world_size", int64_t{world_size}}}});
}

CommError size_mismatch(GlobalRank src, GlobalRank dst, Channel channel, int64_t sent_bytes,
                        int64_t expected_bytes, GlobalRank on) {
    return CommError({"comm.size_mismatch",
                      {{"src", int64_t{src.value}},
                       {"dst", int64_t{dst.value}},
                       {"channel", int64_t{channel.value}},
                       {"sent_bytes", sent_bytes},
                       {"expected_bytes", expected_bytes}}},
                     on);
}

bool is_own_size_mismatch(const Message& failure, GlobalRank rank) {
    if (failure.id != "comm.size_mismatch") return false;
    const auto names = [&](const char* side) {
        const MessageValue* const value = failure.find(side);
        const auto* const number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
        return number != nullptr && *number == rank.value;
    };
    return names("src") || names("dst");
}

}  // namespace meshscope::comm
