#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "backends/tcp/bytes.h"
#include "core/base/message.h"

namespace meshscope::backends::tcp {

/// Why the world ended, as the rank that failed first told it.
struct FirstCause {
    int32_t rank = -1;
    /// Without id when what was thrown is no Error of ours; then the argument "cause" has its words. Without
    /// either when the rank gave up and has not said why.
    Message message;

    bool known() const { return !message.id.empty() || !message.args.empty(); }
    /// For "comm.aborted": the id and its arguments, or the words.
    std::string words() const;
};

/// What `error` is, for the other ranks; null gives an unknown one.
FirstCause cause_of(int32_t rank, const std::exception_ptr& error);

/// The payload of an abort frame, and back. What does not fit is told in words, cut to fit. Decoding is pure
/// and gives nothing for bytes that are none.
Buffer encode(const FirstCause& cause);
std::optional<FirstCause> decode_cause(ByteSpan bytes);

}  // namespace meshscope::backends::tcp
