#include "backends/tcp/first_cause.h"

#include <utility>

#include "backends/tcp/frame.h"
#include "core/base/error.h"
#include "core/base/pack.h"

namespace meshscope::backends::tcp {
namespace {

constexpr std::size_t kMostText = kMostAbortBytes / 2;

Message in_words(std::string words) {
    if (words.size() > kMostText) words.resize(kMostText);
    return {"", {{"cause", std::move(words)}}};
}

Buffer encode_whole(const FirstCause& cause) {
    Packer packer;
    packer.add(cause.rank);
    pack(packer, cause.message);
    return packer.take();
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
    if (bytes.size() > kMostAbortBytes) bytes = encode_whole({cause.rank, in_words(cause.words())});
    return bytes;
}

std::optional<FirstCause> decode_cause(ByteSpan bytes) {
    try {
        Unpacker unpacker(bytes);
        FirstCause cause;
        cause.rank = unpacker.get<int32_t>();
        cause.message = unpack_message(unpacker);
        unpacker.finish();
        return cause;
    } catch (const InvalidArgument&) {
        return std::nullopt;
    }
}

}  // namespace meshscope::backends::tcp
