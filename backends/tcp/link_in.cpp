// The incoming half of a data link: what was announced, asked for and read.
#include "backends/tcp/link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace meshscope::backends::tcp {
namespace {

// While a long message is awaited, its header should not bring much of its payload to the wrong place.
constexpr std::size_t kGlance = std::size_t{4} << 10;

/// Not more than any memory has; nobody posts that.
bool is_size(uint64_t bytes) {
    return bytes >> 48U == 0;
}

}  // namespace

void Link::give_place(Arrival& arrival, std::byte* place) {
    arrival.asked = true;
    if (place == nullptr) {
        arrival.room = rooms_.take(static_cast<std::size_t>(arrival.bytes));
        place = arrival.room.bytes.get();
    }
    arrival.place = place;
}

void Link::leave_place(comm::Channel channel) {
    Inbox& box = inbox(channel);
    box.place_ahead = nullptr;
    if (box.arrivals.empty()) return;
    Arrival& next = box.arrivals.front();
    if (next.place == nullptr || next.room.bytes) return;
    const std::size_t here = next.here + reader_.came_into(next.place, static_cast<std::size_t>(next.bytes));
    std::byte* const left = next.place;
    give_place(next, nullptr);
    std::memcpy(next.place, left, here);
    reader_.move_place(left, static_cast<std::size_t>(next.bytes), next.place);
}

void Link::ask(comm::Channel channel, int64_t bytes, std::byte* place) {
    if (!is_long(bytes)) return;
    Inbox& box = inbox(channel);
    if (!box.arrivals.empty()) {
        Arrival& next = box.arrivals.front();
        if (!next.asked && next.bytes == bytes) fetch(channel, next, place);
        return;
    }
    if (finished_ || box.asked_ahead >= 0) return;
    box.asked_ahead = bytes;
    box.place_ahead = place;
    // Of a near peer an offer will come.
    box.said_ahead = !near_;
    if (box.said_ahead) say_ready(channel, box.next_taken, bytes);
}

void Link::fetch(comm::Channel channel, Arrival& arrival, std::byte* place) {
    give_place(arrival, place);
    if (near_ && arrival.offer) {
        const auto bytes = static_cast<std::size_t>(arrival.bytes);
        if (read_offer(*arrival.offer, {arrival.place, bytes})) {
            arrival.here = bytes;
            arrival.complete = true;
            append_frame(
                small_,
                {.type = FrameType::received, .channel = channel.value, .sequence = arrival.sequence});
            flush();
            return;
        }
        near_ = false;
    }
    say_ready(channel, arrival.sequence, arrival.bytes);
}

void Link::say_ready(comm::Channel channel, uint64_t sequence, int64_t bytes) {
    awaits_long_ = true;
    append_frame(small_, {.type = FrameType::ready,
                          .channel = channel.value,
                          .sequence = sequence,
                          .extra = static_cast<uint64_t>(bytes)});
    flush();
}

bool Link::has(comm::Channel channel, int64_t bytes) {
    const Inbox& box = inbox(channel);
    if (box.arrivals.empty()) return false;
    const Arrival& next = box.arrivals.front();
    return next.complete || next.bytes != bytes;
}

int64_t Link::size_of_next(comm::Channel channel) {
    return inbox(channel).arrivals.front().bytes;
}

Arrival Link::take(comm::Channel channel) {
    Inbox& box = inbox(channel);
    Arrival arrival = std::move(box.arrivals.front());
    box.arrivals.pop_front();
    ++box.next_taken;
    awaits_long_ = false;
    return arrival;
}

void Link::release(comm::Channel channel, Arrival arrival) {
    if (!is_long(arrival.bytes)) {
        append_frame(small_,
                     {.type = FrameType::received, .channel = channel.value, .sequence = arrival.sequence});
        flush();
    }
    rooms_.give_back(std::move(arrival.room));
}

bool Link::pump() {
    if (closed_ || fault() != FrameFault::none) return false;
    const bool wrote = wants_to_write() && flush();
    return read() || wrote;
}

bool Link::read() {
    bool moved = false;
    while (fault() == FrameFault::none && !closed_) {
        const std::span<std::byte> direct = reader_.direct();
        const std::size_t first = std::min(direct.size(), kMostPieceBytes);
        std::array<iovec, 2> parts{};
        std::size_t n_parts = 0;
        if (first > 0) parts[n_parts++] = {direct.data(), first};
        std::span<std::byte> staged;
        if (first == direct.size()) {
            const bool glance = first > 0 || awaits_long_;
            staged = reader_.staged(glance ? kGlance : StreamReader::kStagedBytes);
            parts[n_parts++] = {staged.data(), staged.size()};
        }
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = n_parts;
        const ssize_t n = ::recvmsg(socket_.get(), &message, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return moved;
        if (n <= 0) {
            closed_ = true;
            return true;
        }
        moved = true;
        const auto came = static_cast<std::size_t>(n);
        const std::size_t to_direct = std::min(came, first);
        if (to_direct > 0) reader_.took_direct(to_direct);
        if (came > to_direct && fault() == FrameFault::none) reader_.took_staged(came - to_direct);
        // A short read has emptied the socket.
        if (came < first + staged.size()) return moved;
    }
    return moved;
}

std::byte* Link::begin(const FrameHeader& header) {
    if (finished_) return nullptr;
    switch (header.type) {
        case FrameType::message:
            return begin_message(header);
        case FrameType::piece:
            return begin_piece(header);
        case FrameType::ready:
            return is_size(header.extra) ? &nothing_ : nullptr;
        case FrameType::announce:
            return is_next_long(header) ? &nothing_ : nullptr;
        case FrameType::offer:
            return is_next_long(header) && header.length == kOfferBytes ? offer_bytes_.data() : nullptr;
        case FrameType::calls_ended:
            return header.extra < comm::Channel::kChecksums ? &nothing_ : nullptr;
        case FrameType::received:
        case FrameType::finished:
            return &nothing_;
        default:
            return nullptr;
    }
}

bool Link::is_next_long(const FrameHeader& header) {
    return header.sequence == inbox({header.channel}).next && is_size(header.extra) &&
           is_long(static_cast<int64_t>(header.extra));
}

std::byte* Link::begin_message(const FrameHeader& header) {
    Inbox& box = inbox({header.channel});
    if (header.sequence != box.next) return nullptr;
    ++box.next;
    Arrival arrival;
    arrival.sequence = header.sequence;
    arrival.bytes = header.length;
    arrival.room = rooms_.take(header.length);
    arrival.place = arrival.room.bytes.get();
    box.arrivals.push_back(std::move(arrival));
    return box.arrivals.back().place;
}

std::byte* Link::begin_piece(const FrameHeader& header) {
    Inbox& box = inbox({header.channel});
    if (box.arrivals.empty()) return nullptr;
    Arrival& next = box.arrivals.front();
    const bool fits = next.asked && !next.complete && header.sequence == next.sequence && header.length > 0 &&
                      header.extra == next.here &&
                      header.length <= static_cast<uint64_t>(next.bytes) - next.here;
    return fits ? next.place + next.here : nullptr;
}

void Link::end(const FrameHeader& header) {
    switch (header.type) {
        case FrameType::message:
            inbox({header.channel}).arrivals.back().complete = true;
            return;
        case FrameType::piece: {
            Arrival& next = inbox({header.channel}).arrivals.front();
            next.here += header.length;
            next.complete = next.here == static_cast<std::size_t>(next.bytes);
            return;
        }
        case FrameType::announce:
            return on_announce(header, std::nullopt);
        case FrameType::offer:
            return on_announce(header, decode_offer(offer_bytes_));
        case FrameType::ready:
            return on_ready(header);
        case FrameType::received:
            return on_received(header);
        case FrameType::finished:
            finished_ = true;
            return;
        case FrameType::calls_ended:
            ++rounds_ended_;
            first_after_calls_ = {static_cast<int32_t>(header.extra)};
            return;
        default:
            return;
    }
}

void Link::on_announce(const FrameHeader& header, std::optional<Offer> offer) {
    Inbox& box = inbox({header.channel});
    Arrival arrival;
    arrival.sequence = box.next++;
    arrival.bytes = static_cast<int64_t>(header.extra);
    arrival.offer = offer;
    box.arrivals.push_back(std::move(arrival));
    if (box.arrivals.size() > 1 || box.asked_ahead < 0) return;
    // Asked for when it was not known yet: then it comes now.
    Arrival& next = box.arrivals.front();
    const int64_t expected = std::exchange(box.asked_ahead, -1);
    std::byte* const place = std::exchange(box.place_ahead, nullptr);
    if (expected != next.bytes) {
        // The sender, too, shall know that the two do not agree.
        if (!box.said_ahead) say_ready(box.channel, next.sequence, expected);
        return;
    }
    if (box.said_ahead)
        give_place(next, place);
    else
        fetch(box.channel, next, place);
}

void Link::on_ready(const FrameHeader& header) {
    const auto expected = static_cast<int64_t>(header.extra);
    if (Outgoing* const out = find(header)) {
        if (out->state == Outgoing::State::announced) start_sending(*out, expected);
        return;
    }
    // Already confirmed ones are below; the receiver finds out by itself when a short one has another size.
    if (header.sequence >= next_out({header.channel}))
        asked_.push_back({{header.channel}, header.sequence, expected});
}

void Link::on_received(const FrameHeader& header) {
    Outgoing* const out = find(header);
    const bool taken = out != nullptr && (out->state == Outgoing::State::unconfirmed ||
                                          (out->state == Outgoing::State::announced && out->slot.key != 0));
    if (!taken) return;
    withdraw_offer(out->slot);
    out->state = Outgoing::State::done;
    drop(*out);
}

Outgoing* Link::find(const FrameHeader& header) {
    for (Outgoing* out : open_)
        if (out->channel.value == header.channel && out->sequence == header.sequence) return out;
    return nullptr;
}

}  // namespace meshscope::backends::tcp
