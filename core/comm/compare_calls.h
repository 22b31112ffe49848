#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/comm/call_check.h"
#include "core/comm/transport.h"
#include "core/comm/wire.h"

/// Checked calls: do all members of a group make the same call? Compared before data move: group and members,
/// sequence, op, root, reduce op and factor, dtype, element counts or splits, stream, algorithm. The source
/// line, step and phase travel too; they are shown, not compared, since ranks may call from different lines.
/// (PyTorch's TORCH_DISTRIBUTED_DEBUG=DETAIL compares op, sequence, dtypes and shapes only, see
/// ProcessGroupWrapper.cpp.)
namespace meshscope::comm {

/// The comparison of one collective, on one rank. Every member posts one fingerprint of fixed size (560 bytes
/// up to 16 ranks) to every other and reads theirs: p(p-1) messages in one round, none of them recorded. All
/// see the same fingerprints, so all come to the same diagnosis. Equal 64-bit hashes end it; what differs is
/// looked up only when they are not equal.
class CallComparison {
  public:
    /// Sends and compares. `channel` is the one the data will take. Throws DiagnosedError
    /// (DiagnosisKind::mismatch) when the calls do not fit, and what the transport throws. Everything passed
    /// must live as long as the comparison.
    CallComparison(Transport& transport, std::span<const GlobalRank> ranks, int32_t me, Channel channel,
                   const IssuedCall& call);
    /// Waits until all have read this rank's fingerprint: after the data they mostly have.
    void finish();

  private:
    std::vector<std::byte> mine_;  // before the wire, which takes back what was posted from it
    Wire wire_;
};

/// What goes ahead of a message that is sent to one rank, on the pair's channel of fingerprints.
std::vector<std::byte> fingerprint_of(const IssuedCall& call, int32_t me);

/// Receives the fingerprint of the send that this recv will meet, and throws DiagnosedError when dtype, count
/// or number in the order do not fit. A send and a recv may run on different streams.
void compare_with_send(Transport& transport, std::span<const GlobalRank> ranks, int32_t me, Channel channel,
                       const IssuedCall& recv);

}  // namespace meshscope::comm
