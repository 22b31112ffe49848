#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/comm/transport.h"

namespace meshscope::comm {

/// Throws InvalidArgument "comm.rank_outside_world" {rank, world_size} unless the world has this rank.
void check_rank(GlobalRank rank, int32_t world_size);

/// What rank `on` throws when a message has another size than its receiver expects: "comm.size_mismatch"
/// {src, dst, channel, sent_bytes, expected_bytes}.
CommError size_mismatch(GlobalRank src, GlobalRank dst, Channel channel, int64_t sent_bytes,
                        int64_t expected_bytes, GlobalRank on);

/// Whether a failure is a size_mismatch of a message that `rank` sent or expected: then it is that rank's own
/// as well.
bool is_own_size_mismatch(const Message& failure, GlobalRank rank);

}  // namespace meshscope::comm
