#pragma once

#include <cstdint>
#include <span>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/comm/call_check.h"

namespace meshscope::comm {

/// What a call at a table is, in one number: op, reduce op, dtype and root are in it; what members must agree
/// on and can be told by comparing. (How many bytes there are is said beside.)
struct CallNumber {
    uint64_t value = 0;
    friend bool operator==(const CallNumber&, const CallNumber&) = default;
};

inline CallNumber number_of(const IssuedCall& call) {
    const auto root = static_cast<uint64_t>(static_cast<uint32_t>(call.peer + 1));
    return {static_cast<uint64_t>(call.op) | static_cast<uint64_t>(call.reduce_op) << 8 |
            static_cast<uint64_t>(call.dtype) << 16 | root << 24};
}

/// "comm.calls_differ" in PyTorch's words; `ranks` are the members.
CommError calls_differ(CallNumber call, GlobalRank rank, CallNumber peer_call, GlobalRank peer,
                       std::span<const GlobalRank> ranks);

}  // namespace meshscope::comm
