#include "backends/tcp/loan.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>

#include "backends/tcp/near_memory.h"
#include "core/base/fence.h"

namespace meshscope::backends::tcp {
namespace {

// What a sender says in the word of its slot.
constexpr uint64_t kWriting = 1;
constexpr uint64_t kWritten = 2;
constexpr uint64_t kNotWritten = 3;

constexpr std::chrono::milliseconds kLastBlock{100};

/// A lender's slot, looked at from afar: the key stands at `key` while the sender may begin, at `word` while
/// it may go on with what it has begun.
bool may_write(const Offer& terms, bool begins) {
    OfferSlot slot;
    if (!read_memory(terms.pid, terms.slot, std::as_writable_bytes(std::span(&slot, 1)))) return false;
    return slot.key == terms.key || (!begins && slot.word == terms.key);
}

}  // namespace

Loan::Loan(const Offer& of, std::span<std::byte> place) : of_(of), terms_(make_offer(place, slot_)) {}

Loan::~Loan() {
    withdraw_offer(slot_);
    stop_writing();
}

void Loan::stop_writing() {
    std::atomic_ref(slot_.word).store(0, std::memory_order_seq_cst);
}

bool Loan::end(const std::function<bool()>& given_up) {
    std::atomic_ref(slot_.word).store(terms_.key, std::memory_order_seq_cst);
    withdraw_offer(slot_);
    fence();
    uint64_t state = kWriting;
    const uint64_t word = of_.slot + offsetof(OfferSlot, word);
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> until;
    while (read_memory(of_.pid, word, std::as_writable_bytes(std::span(&state, 1))) && state == kWriting) {
        if (!until && given_up()) {
            stop_writing();
            until = Clock::now() + kLastBlock;
        }
        if (until && Clock::now() >= *until) break;
        std::this_thread::yield();
    }
    fence();  // what is read of `place` from here on is not read before
    return state == kWritten;
}

void use_loan(const Offer& terms, ByteSpan rest, OfferSlot& own) {
    const std::atomic_ref word(own.word);
    word.store(kWriting, std::memory_order_seq_cst);
    fence();  // first say, then look; see Loan
    uint64_t to = terms.address;
    bool begins = true;
    while (!rest.empty() && may_write(terms, begins)) {
        const std::size_t n = std::min(rest.size(), kNearBlockBytes);
        if (!write_memory(terms.pid, to, rest.first(n))) break;
        to += n;
        rest = rest.subspan(n);
        begins = false;
    }
    word.store(rest.empty() ? kWritten : kNotWritten, std::memory_order_seq_cst);
}

}  // namespace meshscope::backends::tcp
