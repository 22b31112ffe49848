#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/tcp/bytes.h"

namespace meshscope::backends::tcp {

/// Where a long message lies in its sender's memory, for a receiver on the same machine, which may copy it
/// from there (process_vm_readv) instead of asking for it on the socket: one copy in place of two, and no
/// system call a packet.
///
/// `key` stands at `slot` for as long as the message may be read. An honest sender's is a number that nobody
/// else has: whoever finds it there has read the memory of the process that sent the offer, not of another
/// that happens to have its number (on another machine, in another container). It proves nothing of a sender
/// that lies: offers are taken of peers alone that have proved the job's token.
struct Offer {
    uint32_t pid = 0;
    uint64_t address = 0;
    uint64_t slot = 0;
    uint64_t key = 0;
};

/// What an offer's `slot` names.
struct OfferSlot {
    uint64_t key = 0;  ///< 0: no offer stands
};

/// The offer of `data` by this process; `slot` gets a key of its own and must stay where it is.
Offer make_offer(ByteSpan data, OfferSlot& slot);
/// From here on `data` may change or go: a copy of it that is being made counts as none.
void withdraw_offer(OfferSlot& slot);

/// kOfferBytes (frame.h).
Buffer encode_offer(const Offer& offer);
/// Reads what encode_offer wrote; nothing when the bytes are none.
std::optional<Offer> decode_offer(ByteSpan bytes);

/// Copies the message to `to`, whose size it has. False when the system does not let us (another machine, no
/// permission) or the offer was withdrawn before the last byte was here: then `to` holds nothing of worth.
/// Cost: 5 to 13 GB/s, and about 1 µs.
bool read_offer(const Offer& offer, std::span<std::byte> to);

}  // namespace meshscope::backends::tcp
