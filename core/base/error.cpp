#include "core/base/error.h"

#include <utility>

namespace meshscope {

Error::Error(Message message) : message_(std::move(message)), what_(describe(message_)) {}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : Error(diagnostics.empty() ? Message{"input.unreadable", {}} : diagnostics.front().message),
      diagnostics_(std::move(diagnostics)) {}

CommError::CommError(Message message, GlobalRank rank, bool secondary)
    : Error(std::move(message)), rank_(rank), secondary_(secondary) {}

}  // namespace meshscope
