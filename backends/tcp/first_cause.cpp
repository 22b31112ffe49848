#include "backends/tcp/first_cause.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backends/tcp/frame.h"
#include "core/base/error.h"
#include "core/base/pack.h"

namespace meshscope::backends::tcp {
namespace {

Buffer encode_whole(const FirstCause& cause) {
    Packer packer;
    packer.add(cause.rank);
    pack(packer, cause.message);
    return packer.take();
}

Message cut(Message message) {
    const std::size_t each = kMostAbortBytes / 4 / std::max<std::size_t>(message.args.size(), 1);
    for (MessageArg& arg : message.args) {
        if (auto* const text = std::get_if<std::string>(&arg.value); text != nullptr && text->size() > each)
            text->resize(each);
        auto* const list = std::get_if<std::vector<int64_t>>(&arg.value);
        if (list != nullptr && list->size() * sizeof(int64_t) > each) list->resize(each / sizeof(int64_t));
    }
    return message;
}

}  // namespace

Buffer encode(const FirstCause& cause) {
    Buffer bytes = encode_whole(cause);
    if (bytes.size() > kMostAbortBytes) bytes = encode_whole({cause.rank, cut(cause.message)});
    if (bytes.size() > kMostAbortBytes) bytes = encode_whole({cause.rank, {}});
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
