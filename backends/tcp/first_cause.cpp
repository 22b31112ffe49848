#include "backends/tcp/first_cause.h"

#include <utility>
#include <vector>

#include "backends/tcp/frame.h"
#include "core/base/error.h"

namespace meshscope::backends::tcp {
namespace {

constexpr std::size_t kMostText = kMostAbortBytes / 2;
constexpr uint32_t kMostArgs = 64;
enum class Kind : uint8_t { integer = 0, real = 1, text = 2, list = 3 };

void write_value(ByteWriter& writer, const MessageValue& value) {
    if (const auto* n = std::get_if<int64_t>(&value)) {
        writer.u8(static_cast<uint8_t>(Kind::integer));
        writer.i64(*n);
    } else if (const auto* x = std::get_if<double>(&value)) {
        writer.u8(static_cast<uint8_t>(Kind::real));
        uint64_t bits = 0;
        static_assert(sizeof bits == sizeof *x);
        __builtin_memcpy(&bits, x, sizeof bits);
        writer.u64(bits);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
        writer.u8(static_cast<uint8_t>(Kind::text));
        writer.text(*text);
    } else {
        const auto& list = std::get<std::vector<int64_t>>(value);
        writer.u8(static_cast<uint8_t>(Kind::list));
        writer.u32(static_cast<uint32_t>(list.size()));
        for (const int64_t item : list) writer.i64(item);
    }
}

std::optional<MessageValue> read_value(ByteReader& reader) {
    switch (static_cast<Kind>(reader.u8())) {
        case Kind::integer:
            return reader.i64();
        case Kind::real: {
            const uint64_t bits = reader.u64();
            double x = 0;
            __builtin_memcpy(&x, &bits, sizeof x);
            return x;
        }
        case Kind::text:
            return reader.text(kMostText);
        case Kind::list: {
            std::vector<int64_t> list;
            const uint32_t n = reader.u32();
            for (uint32_t i = 0; i < n && reader.ok(); ++i) list.push_back(reader.i64());
            return list;
        }
    }
    return std::nullopt;
}

Message in_words(std::string words) {
    if (words.size() > kMostText) words.resize(kMostText);
    return {"", {{"cause", std::move(words)}}};
}

Buffer encode_whole(const FirstCause& cause) {
    Buffer bytes;
    ByteWriter writer(bytes);
    writer.i32(cause.rank);
    writer.text(cause.message.id);
    writer.u32(static_cast<uint32_t>(cause.message.args.size()));
    for (const MessageArg& arg : cause.message.args) {
        writer.text(arg.name);
        write_value(writer, arg.value);
    }
    return bytes;
}

}  // namespace

std::string FirstCause::words() const {
    if (!message.id.empty()) return describe(message);
    const MessageValue* const cause = message.find("cause");
    return cause == nullptr ? "" : to_text(*cause);
}

FirstCause cause_of(int32_t rank, const std::exception_ptr& error) {
    if (!error) return {rank, {}};
    try {
        std::rethrow_exception(error);
    } catch (const Error& ours) {
        return {rank, ours.message()};
    } catch (const std::exception& other) {
        return {rank, in_words(other.what())};
    } catch (...) {
        return {rank, in_words("?")};
    }
}

Buffer encode(const FirstCause& cause) {
    Buffer bytes = encode_whole(cause);
    if (bytes.size() > kMostAbortBytes || !decode_cause(bytes))
        bytes = encode_whole({cause.rank, in_words(cause.words())});
    return bytes;
}

std::optional<FirstCause> decode_cause(ByteSpan bytes) {
    ByteReader reader(bytes);
    FirstCause cause;
    cause.rank = reader.i32();
    cause.message.id = reader.text(kMostText);
    const uint32_t n = reader.u32();
    if (n > kMostArgs) return std::nullopt;
    for (uint32_t i = 0; i < n && reader.ok(); ++i) {
        std::string name = reader.text(kMostText);
        std::optional<MessageValue> value = read_value(reader);
        if (!value) return std::nullopt;
        cause.message.args.push_back({std::move(name), std::move(*value)});
    }
    return reader.ended() ? std::optional(std::move(cause)) : std::nullopt;
}

}  // namespace meshscope::backends::tcp
