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

// Measured on loopback: less costs more system calls, more gains nothing.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// While a long message is awaited, its header should not bring much of its payload to the wrong place.
constexpr std::size_t kGlance = std::size_t{4} << 10;

bool is_long(int64_t bytes) {
    return bytes > static_cast<int64_t>(kMessageBytes);
}

}  // namespace

RoomPool::Room RoomPool::take(std::size_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
        if (it->capacity >= bytes && (best == free_.end() || it->capacity < best->capacity)) best = it;
    if (best != free_.end()) {
        Room room = std::move(*best);
        free_.erase(best);
        return room;
    }
    const std::size_t capacity = std::max<std::size_t>(bytes, 1024);
    return {std::make_unique_for_overwrite<std::byte[]>(capacity), capacity};
}

void RoomPool::give_back(Room room) {
    if (room.capacity == 0) return;
    free_.push_back(std::move(room));
    if (free_.size() > kMostKept) free_.erase(free_.begin());
}

Link::Link(Fd socket, int32_t peer, RoomPool& rooms)
    : socket_(std::move(socket)), peer_(peer), rooms_(rooms), reader_(*this) {}

Link::Inbox& Link::inbox(comm::Channel channel) {
    for (Inbox& one : inboxes_)
        if (one.channel == channel) return one;
    inboxes_.push_back({});
    inboxes_.back().channel = channel;
    return inboxes_.back();
}

uint64_t& Link::next_out(comm::Channel channel) {
    for (Outbox& one : outboxes_)
        if (one.channel == channel) return one.next;
    outboxes_.push_back({channel, 0});
    return outboxes_.back().next;
}

// --- out

void Link::post(Outgoing& out) {
    out.sequence = next_out(out.channel)++;
    open_.push_back(&out);
    const auto total = static_cast<int64_t>(out.data.size());
    FrameHeader header{.channel = out.channel.value, .sequence = out.sequence};
    if (is_long(total)) {
        out.state = Outgoing::State::announced;
        header.type = FrameType::announce;
        header.extra = static_cast<uint64_t>(total);
        append_frame(small_, header);
        const auto asked = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& one) {
            return one.channel == out.channel && one.sequence == out.sequence;
        });
        if (asked != asked_.end()) {
            const int64_t expected = asked->bytes;
            asked_.erase(asked);
            start_sending(out, expected);
        }
        flush();
        return;
    }
    out.state = Outgoing::State::unconfirmed;
    std::erase_if(
        asked_, [&](const Asked& one) { return one.channel == out.channel && one.sequence == out.sequence; });
    header.type = FrameType::message;
    header.length = static_cast<uint32_t>(total);
    header.payload_crc = crc_of(out.data);
    HeaderBytes bytes = encode(header);
    std::size_t sent = 0;
    if (!wants_to_write() && !closed_) {
        std::array<iovec, 2> parts{iovec{bytes.data(), bytes.size()},
                                   iovec{const_cast<std::byte*>(out.data.data()), out.data.size()}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (n > 0) sent = static_cast<std::size_t>(n);
    }
    // The rest waits as a copy, so the caller's bytes are free whatever becomes of this rank.
    if (sent < kHeaderBytes)
        small_.insert(small_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(sent), bytes.end());
    const std::size_t of_data = sent < kHeaderBytes ? 0 : sent - kHeaderBytes;
    small_.insert(small_.end(), out.data.begin() + static_cast<std::ptrdiff_t>(of_data), out.data.end());
}

void Link::start_sending(Outgoing& out, int64_t expected) {
    if (expected != static_cast<int64_t>(out.data.size())) {
        if (!mismatch_) mismatch_ = Mismatch{&out, expected};
        return;
    }
    out.state = Outgoing::State::sending;
    sending_.push_back(&out);
}

bool Link::take_back(Outgoing& out) {
    if (in_piece_ && sending_.front() == &out) {
        if (piece_header_at_ > 0 && !closed_) return false;
        in_piece_ = false;
    }
    std::erase(sending_, &out);
    drop(out);
    out.state = Outgoing::State::done;
    return true;
}

void Link::break_off() noexcept {
    ::shutdown(socket_.get(), SHUT_RDWR);
    closed_ = true;
}

void Link::drop(const Outgoing& out) {
    std::erase(open_, &out);
}

void Link::say_finished() {
    append_frame(small_, {.type = FrameType::finished});
    flush();
}

bool Link::next_piece() {
    if (sending_.empty()) return false;
    Outgoing& out = *sending_.front();
    piece_ = out.data.subspan(out.sent, std::min(kPieceBytes, out.data.size() - out.sent));
    piece_header_ = encode({.type = FrameType::piece,
                            .channel = out.channel.value,
                            .length = static_cast<uint32_t>(piece_.size()),
                            .sequence = out.sequence,
                            .extra = out.sent,
                            .payload_crc = crc_of(piece_)});
    piece_header_at_ = 0;
    in_piece_ = true;
    return true;
}

bool Link::flush() {
    bool moved = false;
    while (!closed_) {
        std::array<iovec, 3> parts{};
        std::size_t n_parts = 0;
        const auto add = [&](const std::byte* from, std::size_t n) {
            if (n > 0) parts[n_parts++] = {const_cast<std::byte*>(from), n};
        };
        // What is small goes first, but never into the middle of a piece.
        const bool small_first = !(in_piece_ && piece_header_at_ > 0) && small_at_ < small_.size();
        if (small_first) add(small_.data() + small_at_, small_.size() - small_at_);
        if (in_piece_ || next_piece()) {
            add(piece_header_.data() + piece_header_at_, kHeaderBytes - piece_header_at_);
            add(piece_.data(), piece_.size());
        }
        if (n_parts == 0) return moved;
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = n_parts;
        const ssize_t n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EINTR) continue;
            // An error shows in reading, too, after what the peer said before it went.
            return moved;
        }
        moved = true;
        auto left = static_cast<std::size_t>(n);
        if (small_first) {
            const std::size_t took = std::min(left, small_.size() - small_at_);
            small_at_ += took;
            left -= took;
            if (small_at_ == small_.size()) {
                small_.clear();
                small_at_ = 0;
            }
        }
        if (!in_piece_) continue;
        const std::size_t of_header = std::min(left, kHeaderBytes - piece_header_at_);
        piece_header_at_ += of_header;
        left -= of_header;
        piece_ = piece_.subspan(left);
        Outgoing& out = *sending_.front();
        out.sent += left;
        if (!piece_.empty() || piece_header_at_ < kHeaderBytes) continue;
        in_piece_ = false;
        if (out.sent == out.data.size()) {
            out.state = Outgoing::State::done;
            drop(out);
            sending_.pop_front();
        }
    }
    return moved;
}

// --- in

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
    box.asked_place = nullptr;
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
    Inbox& box = inbox(channel);
    if (box.arrivals.empty()) {
        if (!is_long(bytes) || box.asked_ahead >= 0 || finished_) return;
        box.asked_ahead = bytes;
        box.asked_place = place;
    } else {
        Arrival& next = box.arrivals.front();
        if (next.asked || next.bytes != bytes || !is_long(bytes)) return;
        give_place(next, place);
    }
    awaits_long_ = true;
    append_frame(small_, {.type = FrameType::ready,
                          .channel = channel.value,
                          .sequence = box.next_taken,
                          .extra = static_cast<uint64_t>(bytes)});
    flush();
}

bool Link::has(comm::Channel channel, int64_t bytes) {
    const Inbox& box = inbox(channel);
    return !box.arrivals.empty() && (box.arrivals.front().complete || box.arrivals.front().bytes != bytes);
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
        const std::size_t first = std::min(direct.size(), kPieceBytes);
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
        case FrameType::announce:
        case FrameType::ready:
            // More than any memory; nobody posts that.
            return header.extra >> 48U == 0 ? &nothing_ : nullptr;
        case FrameType::received:
        case FrameType::finished:
            return &nothing_;
        default:
            return nullptr;
    }
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
            return on_announce(header);
        case FrameType::ready:
            return on_ready(header);
        case FrameType::received:
            return on_received(header);
        case FrameType::finished:
            finished_ = true;
            return;
        default:
            return;
    }
}

void Link::on_announce(const FrameHeader& header) {
    Inbox& box = inbox({header.channel});
    Arrival arrival;
    arrival.sequence = box.next++;
    arrival.bytes = static_cast<int64_t>(header.extra);
    // Asked for when it was not known yet: then it comes now.
    if (box.arrivals.empty()) {
        if (box.asked_ahead == arrival.bytes) give_place(arrival, box.asked_place);
        box.asked_ahead = -1;
        box.asked_place = nullptr;
    }
    box.arrivals.push_back(std::move(arrival));
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
    if (out == nullptr || out->state != Outgoing::State::unconfirmed) return;
    out->state = Outgoing::State::done;
    drop(*out);
}

Outgoing* Link::find(const FrameHeader& header) {
    for (Outgoing* out : open_)
        if (out->channel.value == header.channel && out->sequence == header.sequence) return out;
    return nullptr;
}

}  // namespace meshscope::backends::tcp
