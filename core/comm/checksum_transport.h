#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/comm/forwarding_transport.h"

namespace meshscope::comm {

/// Sends a checksum (CRC-32C) beside every message that carries a tensor, on a channel of its own, and looks
/// whether what arrived has it: a bit that changed on the way is found before anybody reads the numbers.
/// A backend's own checksum (of a frame, say) covers the wire alone; this covers all between two ranks.
///
/// Cost: one more message of 4 bytes, and two passes over the bytes (see Crc32c); of a
/// device's bytes, two copies to the host. Throws DiagnosedError
/// (DiagnosisKind::corrupt), naming sender, receiver and call, on the receiver.
class ChecksumTransport final : public ForwardingTransport {
  public:
    using ForwardingTransport::ForwardingTransport;

    Ticket post(GlobalRank dst, Channel channel, Bytes data) override;
    void receive_together(std::span<const Expected> messages, Channel channel,
                          const ConsumeTogether& consume) override;
    void wait(Ticket ticket) override;
    bool done(Ticket ticket) override;

  private:
    void note(CallMoment moment, const IssuedCall* call) override;

    /// A message under way: its own ticket, and its checksum's (-1: it has none).
    struct Sent {
        Ticket data = -1;
        Ticket checksum = -1;
        uint32_t crc = 0;
    };

    uint32_t receive_checksum(GlobalRank src, Channel channel);
    void check(GlobalRank src, Bytes data, uint32_t crc);

    IssuedCall call_;
    std::deque<Sent> sent_;  // checksums are sent from here: they must not move
    std::vector<std::size_t> free_;
};

}  // namespace meshscope::comm
