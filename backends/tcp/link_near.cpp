// What a data link reads in its peer's memory, and writes there, where both ends are on one machine.
#include "backends/tcp/link.h"

#include <algorithm>

#include "backends/tcp/loan.h"
#include "backends/tcp/near_memory.h"

namespace meshscope::backends::tcp {
namespace {

// Less is copied in the time that telling the sender takes.
constexpr std::size_t kLeastLent = std::size_t{1} << 20;

// Less stays in a cache anyway, and is better copied as soon as it is offered, before all others are
// (measured).
constexpr int64_t kLeastByBlocks = int64_t{4} << 20;

}  // namespace

void Link::fetch(comm::Channel channel, Arrival& arrival, const Want& want) {
    const bool offered = near_.offers && arrival.offer;
    // Two that copy are faster than one that keeps what it copies in its cache.
    const bool stays = want.by_blocks && arrival.bytes >= kLeastByBlocks &&
                       !may_lend(static_cast<std::size_t>(arrival.bytes));
    if (offered && stays) {
        arrival.asked = arrival.by_blocks = true;
        return;
    }
    give_place(arrival, want.place);
    if (offered) {
        if (read_near(channel, arrival)) return confirm(channel, arrival);
        near_.offers = false;
    }
    say_ready(channel, arrival.sequence, arrival.bytes);
}

void Link::confirm(comm::Channel channel, Arrival& arrival) {
    arrival.here = static_cast<std::size_t>(arrival.bytes);
    arrival.complete = true;
    append_frame(small_,
                 {.type = FrameType::received, .channel = channel.value, .sequence = arrival.sequence});
    flush();
}

bool Link::is_by_blocks(comm::Channel channel) {
    return inbox(channel).arrivals.front().by_blocks;
}

bool Link::read_block(comm::Channel channel, std::size_t offset, std::span<std::byte> to) {
    Arrival& next = inbox(channel).arrivals.front();
    if (!next.by_blocks) return false;
    const Offer& offer = *next.offer;
    if (read_memory(offer.pid, offer.address + offset, to) && still_stands(offer)) return true;
    near_.offers = next.by_blocks = false;
    give_place(next, nullptr);
    say_ready(channel, next.sequence, next.bytes);
    return false;
}

void Link::end_blocks(comm::Channel channel) {
    Arrival& next = inbox(channel).arrivals.front();
    if (next.by_blocks) confirm(channel, next);
}

bool Link::may_lend(std::size_t bytes) const {
    // Who is offered something long by us reads that now, as we read this.
    const auto waits = [](const Outgoing* out) { return out->state == Outgoing::State::announced; };
    return near_.lends && bytes >= kLeastLent && std::ranges::none_of(open_, waits);
}

bool Link::read_near(comm::Channel channel, const Arrival& arrival) {
    const Offer& offer = *arrival.offer;
    const std::span<std::byte> to{arrival.place, static_cast<std::size_t>(arrival.bytes)};
    if (!may_lend(to.size())) return read_offer(offer, to);
    const std::size_t front = to.size() / 2;
    Loan loan(offer, to.subspan(front));
    append_frame(
        small_,
        {.type = FrameType::lend, .channel = channel.value, .sequence = arrival.sequence, .extra = front},
        encode_offer(loan.terms()));
    flush();
    const bool read = read_memory(offer.pid, offer.address, to.first(front));
    const Clock::time_point since = Clock::now();
    const bool written = loan.end([&] { return near_.gives_up(channel, arrival.bytes, since); });
    return read && (written || read_memory(offer.pid, offer.address + front, to.subspan(front))) &&
           still_stands(offer);
}

void Link::on_lend(const FrameHeader& header) {
    Outgoing* const out = find(header);
    const std::optional<Offer> terms = decode_offer(offer_bytes_);
    // It may have come too late, and where nothing is offered nothing is lent.
    const bool stands = out != nullptr && out->state == Outgoing::State::announced && out->slot.key != 0;
    if (!stands || !terms || header.extra >= out->data.size()) return;
    use_loan(*terms, out->data.subspan(static_cast<std::size_t>(header.extra)), out->slot);
}

}  // namespace meshscope::backends::tcp
