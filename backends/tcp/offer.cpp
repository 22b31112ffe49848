#include "backends/tcp/offer.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "backends/tcp/near_memory.h"
#include "backends/tcp/token.h"

namespace meshscope::backends::tcp {
namespace {

uint64_t new_key() {
    static std::atomic<uint64_t> next = [] {
        const Bytes32 random = random_bytes();
        uint64_t first = 0;
        std::memcpy(&first, random.data(), sizeof first);
        return first;
    }();
    const uint64_t key = next.fetch_add(1, std::memory_order_relaxed);
    return key != 0 ? key : next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Offer make_offer(ByteSpan data, OfferSlot& slot) {
    const uint64_t key = new_key();
    std::atomic_ref(slot.key).store(key, std::memory_order_release);
    return {static_cast<uint32_t>(::getpid()), address_of(data.data()), address_of(&slot), key};
}

void withdraw_offer(OfferSlot& slot) {
    // An exchange, since what the caller writes to the message from here on must not be seen before it, which
    // a store does not say.
    std::atomic_ref(slot.key).exchange(0, std::memory_order_seq_cst);
}

Buffer encode_offer(const Offer& offer) {
    Buffer bytes;
    ByteWriter out(bytes);
    out.u32(offer.pid);
    out.u64(offer.address);
    out.u64(offer.slot);
    out.u64(offer.key);
    return bytes;
}

std::optional<Offer> decode_offer(ByteSpan bytes) {
    ByteReader in(bytes);
    Offer offer;
    offer.pid = in.u32();
    offer.address = in.u64();
    offer.slot = in.u64();
    offer.key = in.u64();
    if (!in.ended() || offer.key == 0) return std::nullopt;
    return offer;
}

bool read_offer(const Offer& offer, std::span<std::byte> to) {
    return read_memory(offer.pid, offer.address, to) && still_stands(offer);
}

bool still_stands(const Offer& offer) {
    // The sender takes the key away before it touches the message. A call of the system of its own, so the
    // key is read after the message.
    uint64_t key = 0;
    return read_memory(offer.pid, offer.slot, std::as_writable_bytes(std::span(&key, 1))) && key == offer.key;
}

}  // namespace meshscope::backends::tcp
