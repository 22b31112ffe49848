#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/comm/call_check.h"

namespace meshscope::comm {

/// A call in bytes that mean the same on every rank: a head of fixed size, then the members and the splits of
/// at least 16 ranks, so that its size depends on the group's size alone, and on that only above 16. Not for
/// the disk: it is read by the same program.
class Fingerprint {
  public:
    Fingerprint() = default;
    Fingerprint(const IssuedCall& call, int32_t me);
    /// As received. `bytes` may come from anywhere: nothing in it is used as an index or a length unchecked.
    explicit Fingerprint(std::vector<std::byte> bytes);

    const std::vector<std::byte>& bytes() const { return bytes_; }
    /// Of everything that is compared; a send's equals that of the recv that fits it.
    uint64_t hash() const;
    CollectiveOp op() const;
    /// Whether both mean the same group: its number and its members.
    bool same_group(const Fingerprint& other) const;
    /// What the call gives to and gets from group rank r; 0 where there is no such part.
    int64_t in_part(std::size_t r) const;
    int64_t out_part(std::size_t r) const;
    /// In which of the compared respects the two differ: "group", "op", "sequence", "root", "reduce_op",
    /// "dtype", "count", "splits", "factor", "stream", "algorithm". Another group or op says it all: then
    /// nothing else is named.
    std::vector<const char*> differences(const Fingerprint& other) const;
    /// In words, with the source line.
    CallReport report() const;

  private:
    std::vector<std::byte> bytes_;
};

}  // namespace meshscope::comm
