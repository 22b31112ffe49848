#include "backends/tcp/store_protocol.h"

#include <charconv>

#include "backends/tcp/frame.h"

namespace meshscope::backends::tcp {
namespace {

StoreAnswer refused(const char* why) {
    StoreAnswer answer;
    answer.status = StoreStatus::refused;
    answer.text = why;
    return answer;
}

StoreAnswer with_text(std::string text) {
    StoreAnswer answer;
    answer.text = std::move(text);
    return answer;
}

}  // namespace

Buffer encode(const StoreRequest& request) {
    Buffer bytes;
    ByteWriter writer(bytes);
    writer.u8(static_cast<uint8_t>(request.op));
    writer.text(request.key);
    writer.text(request.value);
    writer.text(request.desired);
    writer.i64(request.number);
    return bytes;
}

Buffer encode(const StoreAnswer& answer) {
    Buffer bytes;
    ByteWriter writer(bytes);
    writer.u8(static_cast<uint8_t>(answer.status));
    writer.text(answer.text);
    writer.i64(answer.number);
    writer.u32(static_cast<uint32_t>(answer.keys.size()));
    for (const std::string& key : answer.keys) writer.text(key);
    return bytes;
}

std::optional<StoreRequest> decode_request(ByteSpan bytes) {
    ByteReader reader(bytes);
    StoreRequest request;
    const uint8_t op = reader.u8();
    request.op = static_cast<StoreOp>(op);
    request.key = reader.text(kMostKeyBytes);
    request.value = reader.text(kMostValueBytes);
    request.desired = reader.text(kMostValueBytes);
    request.number = reader.i64();
    const bool known = op >= static_cast<uint8_t>(StoreOp::set) && op <= static_cast<uint8_t>(StoreOp::erase);
    if (!reader.ended() || !known) return std::nullopt;
    return request;
}

std::optional<StoreAnswer> decode_answer(ByteSpan bytes) {
    ByteReader reader(bytes);
    StoreAnswer answer;
    const uint8_t status = reader.u8();
    answer.status = static_cast<StoreStatus>(status);
    answer.text = reader.text(kMostValueBytes);
    answer.number = reader.i64();
    const uint32_t n = reader.u32();
    // Every key takes four bytes at least, so a count that lies is found before much is made.
    for (uint32_t i = 0; i < n && reader.ok(); ++i) answer.keys.push_back(reader.text(kMostKeyBytes));
    if (!reader.ended() || status > static_cast<uint8_t>(StoreStatus::refused)) return std::nullopt;
    return answer;
}

StoreAnswer StoreTable::apply(const StoreRequest& request) {
    const auto found = values_.find(request.key);
    StoreAnswer answer;
    switch (request.op) {
        case StoreOp::set:
            return put(request.key, request.value);
        case StoreOp::get:
        case StoreOp::wait:
            if (found != values_.end()) return with_text(found->second);
            answer.status = StoreStatus::missing;
            return answer;
        case StoreOp::add:
            return add(request);
        case StoreOp::compare_set: {
            const bool matches =
                found == values_.end() ? request.value.empty() : found->second == request.value;
            if (!matches) return with_text(found == values_.end() ? "" : found->second);
            StoreAnswer stored = put(request.key, request.desired);
            if (stored.status == StoreStatus::ok) stored.text = request.desired;
            return stored;
        }
        case StoreOp::keys:
            return list(request.key);
        case StoreOp::erase:
            if (found != values_.end()) {
                bytes_ -= found->first.size() + found->second.size();
                values_.erase(found);
                answer.number = 1;
            }
            return answer;
    }
    return refused("unknown");
}

StoreAnswer StoreTable::put(const std::string& key, const std::string& value) {
    const auto found = values_.find(key);
    const std::size_t before = found == values_.end() ? 0 : key.size() + found->second.size();
    const std::size_t after = bytes_ - before + key.size() + value.size();
    if (after > kMostTableBytes || (found == values_.end() && values_.size() >= kMostKeys))
        return refused("store_full");
    values_[key] = value;
    bytes_ = after;
    return {};
}

StoreAnswer StoreTable::add(const StoreRequest& request) {
    int64_t number = 0;
    if (const auto found = values_.find(request.key); found != values_.end()) {
        const char* const end = found->second.data() + found->second.size();
        const auto [stop, error] = std::from_chars(found->second.data(), end, number);
        if (error != std::errc{} || stop != end) return refused("not_a_number");
    }
    if (__builtin_add_overflow(number, request.number, &number)) return refused("overflow");
    StoreAnswer answer = put(request.key, std::to_string(number));
    answer.number = number;
    return answer;
}

StoreAnswer StoreTable::list(const std::string& prefix) const {
    StoreAnswer answer;
    std::size_t total = 64;
    for (auto it = values_.lower_bound(prefix); it != values_.end() && it->first.starts_with(prefix); ++it) {
        total += it->first.size() + 4;
        if (total > kMostStoreBytes) return refused("answer_too_long");
        answer.keys.push_back(it->first);
    }
    return answer;
}

}  // namespace meshscope::backends::tcp
