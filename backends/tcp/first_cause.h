#pragma once

#include <cstdint>
#include <optional>

#include "backends/tcp/bytes.h"
#include "core/base/message.h"

namespace meshscope::backends::tcp {

/// Why the world ended, as the rank that failed first told it.
struct FirstCause {
    int32_t rank = -1;
    /// See message_of(); without id when the rank gave up and has not said why.
    Message message;

    bool known() const { return !message.id.empty(); }
};

/// The payload of an abort frame, and back. Where it would be too long, texts and lists are cut to fit.
/// Decoding is pure and gives nothing for bytes that are none.
Buffer encode(const FirstCause& cause);
std::optional<FirstCause> decode_cause(ByteSpan bytes);

}  // namespace meshscope::backends::tcp
