#pragma once

#include <exception>
#include <optional>

#include "core/base/message.h"

namespace meshscope {

/// What `error` says to who was not there: its message; of an exception that is none of ours
/// "error.unforeseen" {what}, of want of memory "error.out_of_memory", of want of a
/// thread what no_thread() says.
Message message_of(const std::exception& error);
/// The same; null gives no id.
Message message_of(const std::exception_ptr& error);

/// `message` with what caused it inside: `cause`'s id as the argument cause.id, and each of its arguments
/// NAME as cause.NAME. So it travels between processes whole, and where it is shown the placeholder {cause}
/// becomes the cause's own text, in the reader's language. Undone by cause_in().
Message with_cause(Message message, const Message& cause);

/// What with_cause() put inside; nothing where there is none.
std::optional<Message> cause_in(const Message& message);

}  // namespace meshscope
