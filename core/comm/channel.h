#pragma once

#include <compare>
#include <cstdint>

namespace meshscope::comm {

/// Keeps the messages of different groups apart: messages from one rank to another on one channel arrive in
/// the order they were posted; channels do not wait for each other. Values from 0 carry tensors. What travels
/// beside them has channels of its own: -1-c the calls' fingerprints (compare_calls.h), c + 2^30 the
/// checksums (checksum_transport.h) of channel c.
struct Channel {
    int32_t value = 0;
    friend auto operator<=>(const Channel&, const Channel&) = default;

    static constexpr int32_t kChecksums = 1 << 30;
    bool carries_tensors() const { return value >= 0 && value < kChecksums; }
    Channel of_fingerprints() const { return {-1 - value}; }
    Channel of_checksums() const { return {value + kChecksums}; }
    /// Whether it is below `first`, or belongs to one that is.
    bool is_before(Channel first) const {
        if (value < 0) return -1 - value < first.value;
        return (value >= kChecksums ? value - kChecksums : value) < first.value;
    }
};

}  // namespace meshscope::comm
