#include "backends/tcp/stream_reader.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace meshscope::backends::tcp {

StreamReader::StreamReader(FrameSink& sink)
    : sink_(sink), staging_(std::make_unique_for_overwrite<std::byte[]>(kStagedBytes)) {}

std::span<std::byte> StreamReader::staged(std::size_t most) {
    if (begin_ == end_) begin_ = end_ = 0;
    // cut() leaves less than a header, so moving it is nothing.
    if (kStagedBytes - end_ < kHeaderBytes) {
        std::memmove(staging_.get(), staging_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    return {staging_.get() + end_, std::min(most, kStagedBytes - end_)};
}

void StreamReader::took_direct(std::size_t n) {
    crc_.add(place_, n);
    place_ += n;
    left_ -= n;
    if (left_ == 0) end_payload();
}

void StreamReader::took_staged(std::size_t n) {
    end_ += n;
    cut();
}

std::size_t StreamReader::came_into(const std::byte* begin, std::size_t n) const {
    const bool inside = in_payload_ && !std::less<>()(place_, begin) && !std::less<>()(begin + n, place_);
    return inside ? header_.length - left_ : 0;
}

void StreamReader::move_place(const std::byte* from, std::size_t n, std::byte* to) {
    if (in_payload_ && !std::less<>()(place_, from) && !std::less<>()(from + n, place_))
        place_ = to + (place_ - from);
}

void StreamReader::cut() {
    while (fault_ == FrameFault::none && begin_ < end_) {
        const std::byte* const from = staging_.get() + begin_;
        const std::size_t there = end_ - begin_;
        if (in_payload_) {
            const std::size_t n = std::min(there, left_);
            std::memcpy(place_, from, n);
            begin_ += n;
            took_direct(n);
            continue;
        }
        if (there < kHeaderBytes) return;
        fault_ = decode(std::span<const std::byte, kHeaderBytes>(from, kHeaderBytes), header_);
        if (fault_ != FrameFault::none) return;
        begin_ += kHeaderBytes;
        place_ = sink_.begin(header_);
        if (place_ == nullptr) {
            fault_ = FrameFault::unknown_type;
            return;
        }
        left_ = header_.length;
        in_payload_ = true;
        crc_ = Crc32c();
        if (left_ == 0) end_payload();
    }
}

void StreamReader::end_payload() {
    in_payload_ = false;
    place_ = nullptr;
    if (crc_.value() != header_.payload_crc) {
        fault_ = FrameFault::damaged;
        return;
    }
    sink_.end(header_);
}

}  // namespace meshscope::backends::tcp
