// The outgoing half of a data link, and what both halves share.
#include "backends/tcp/link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace meshscope::backends::tcp {

Link::Link(Fd socket, int32_t peer, RoomPool& rooms, bool near)
    : socket_(std::move(socket)), peer_(peer), rooms_(rooms), near_(near), reader_(*this) {}

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

void Link::post(Outgoing& out) {
    out.sequence = next_out(out.channel)++;
    open_.push_back(&out);
    const auto total = static_cast<int64_t>(out.data.size());
    FrameHeader header{.channel = out.channel.value, .sequence = out.sequence};
    if (is_long(total)) {
        out.state = Outgoing::State::announced;
        header.type = near_ ? FrameType::offer : FrameType::announce;
        header.extra = static_cast<uint64_t>(total);
        append_frame(small_, header, near_ ? encode_offer(make_offer(out.data, out.slot)) : Buffer());
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
    withdraw_offer(out.slot);
    out.state = Outgoing::State::sending;
    sending_.push_back(&out);
}

bool Link::take_back(Outgoing& out) {
    if (in_piece_ && sending_.front() == &out) {
        if (piece_header_at_ > 0 && !closed_) return false;
        in_piece_ = false;
    }
    std::erase(sending_, &out);
    withdraw_offer(out.slot);
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

void Link::say_calls_ended(comm::Channel first) {
    append_frame(small_, {.type = FrameType::calls_ended, .extra = static_cast<uint64_t>(first.value)});
    flush();
}

bool Link::next_piece() {
    if (sending_.empty()) return false;
    Outgoing& out = *sending_.front();
    piece_ = out.data.subspan(out.sent, std::min(kMostPieceBytes, out.data.size() - out.sent));
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

}  // namespace meshscope::backends::tcp
