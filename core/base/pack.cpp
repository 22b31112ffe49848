#include "core/base/pack.h"

#include "core/base/crc32c.h"
#include "core/base/error.h"

namespace meshscope {
namespace {

/// Stands first: bytes of another order or of another kind of packing are told apart by it.
constexpr uint32_t kMark = 0x4D536B31;  // "MSk1"

}  // namespace

Packer::Packer() {
    add(kMark);
}

void Packer::append(const void* data, std::size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(data);
    if (bytes > 0) bytes_.insert(bytes_.end(), first, first + bytes);
}

void Packer::add(const std::string& text) {
    add(static_cast<uint64_t>(text.size()));
    append(text.data(), text.size());
}

void Packer::add(const std::vector<std::string>& texts) {
    add(static_cast<uint64_t>(texts.size()));
    for (const std::string& text : texts) add(text);
}

std::vector<std::byte> Packer::take() {
    Crc32c crc;
    crc.add(bytes_);
    add(crc.value());
    return std::move(bytes_);
}

Unpacker::Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {
    uint32_t said = 0;
    require(bytes.size() >= sizeof kMark + sizeof said);
    bytes_ = bytes.first(bytes.size() - sizeof said);
    std::memcpy(&said, bytes.data() + bytes_.size(), sizeof said);
    Crc32c crc;
    crc.add(bytes_);
    require(crc.value() == said);
    require(get<uint32_t>() == kMark);
}

std::string Unpacker::text() {
    const std::size_t n = count(1);
    const std::byte* const first = next(n);
    return {reinterpret_cast<const char*>(first), n};
}

std::vector<std::string> Unpacker::texts() {
    const std::size_t n = count(sizeof(uint64_t));
    std::vector<std::string> all;
    all.reserve(n);
    for (std::size_t i = 0; i < n; ++i) all.push_back(text());
    return all;
}

void Unpacker::finish() const {
    require(at_ == bytes_.size());
}

void Unpacker::require(bool holds) const {
    if (!holds) throw InvalidArgument({"pack.damaged", {{"byte", static_cast<int64_t>(at_)}}});
}

const std::byte* Unpacker::next(std::size_t bytes) {
    require(bytes <= bytes_.size() - at_);
    const std::byte* const first = bytes_.data() + at_;
    at_ += bytes;
    return first;
}

std::size_t Unpacker::count(std::size_t each) {
    const auto n = get<uint64_t>();
    require(n <= (bytes_.size() - at_) / each);
    return static_cast<std::size_t>(n);
}

void pack(Packer& packer, const Message& message) {
    packer.add(message.id);
    packer.add(static_cast<uint64_t>(message.args.size()));
    for (const MessageArg& arg : message.args) {
        packer.add(arg.name);
        packer.add(static_cast<uint64_t>(arg.value.index()));
        std::visit([&](const auto& value) { packer.add(value); }, arg.value);
    }
}

Message unpack_message(Unpacker& unpacker) {
    Message message;
    message.id = unpacker.text();
    const auto args = unpacker.get<uint64_t>();
    for (uint64_t i = 0; i < args; ++i) {
        MessageArg arg;
        arg.name = unpacker.text();
        const auto kind = unpacker.get<uint64_t>();
        unpacker.require(kind < std::variant_size_v<MessageValue>);
        if (kind == 0)
            arg.value = unpacker.get<int64_t>();
        else if (kind == 1)
            arg.value = unpacker.get<double>();
        else if (kind == 2)
            arg.value = unpacker.text();
        else
            arg.value = unpacker.list<int64_t>();
        message.args.push_back(std::move(arg));
    }
    return message;
}

}  // namespace meshscope
