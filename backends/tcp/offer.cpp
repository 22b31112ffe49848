#include "backends/tcp/offer.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "backends/tcp/token.h"

namespace meshscope::backends::tcp {
namespace {

/// Less costs more system calls, more pins more pages at once than they are quick for (measured).
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

/// An address as it travels between processes.
uint64_t address_of(const void* place) {
    return reinterpret_cast<uintptr_t>(place);
}

/// Copies from another process of this machine; false when not all of it could be: the process or the memory
/// is not there, or the system does not let us.
bool read_memory(uint32_t pid, uint64_t address, std::span<std::byte> to) {
    while (!to.empty()) {
        const std::size_t n = std::min(to.size(), kBlockBytes);
        const iovec mine{to.data(), n};
        const iovec theirs{reinterpret_cast<void*>(static_cast<uintptr_t>(address)), n};
        const ssize_t done = ::process_vm_readv(static_cast<pid_t>(pid), &mine, 1, &theirs, 1, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        to = to.subspan(static_cast<std::size_t>(done));
        address += static_cast<uint64_t>(done);
    }
    return true;
}

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
    if (!read_memory(offer.pid, offer.address, to)) return false;
    // The sender takes the key away before it touches the message. A call of the system of its own, so the
    // key is read after the message.
    uint64_t key = 0;
    return read_memory(offer.pid, offer.slot, std::as_writable_bytes(std::span(&key, 1))) && key == offer.key;
}

}  // namespace meshscope::backends::tcp
