#include "core/base/error.h"

#include <set>
#include <string>
#include <utility>

namespace meshscope {
namespace {

/// Two readers of one table find the same mistake; the user made it once.
std::vector<Diagnostic> each_once(std::vector<Diagnostic> found) {
    std::set<std::string> seen;
    std::erase_if(found, [&](const Diagnostic& d) {
        const SourcePosition& at = d.position;
        return !seen.insert(describe(d.message) + '\n' + at.file + '\n' + std::to_string(at.line) + ':' +
                            std::to_string(at.column) + ':' + std::to_string(at.byte))
                    .second;
    });
    return found;
}

}  // namespace

Error::Error(Message message) : message_(std::move(message)), what_(describe(message_)) {}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : Error(diagnostics.empty() ? Message{"input.unreadable", {}} : diagnostics.front().message),
      diagnostics_(each_once(std::move(diagnostics))) {}

CommError::CommError(Message message, GlobalRank rank, bool secondary)
    : Error(std::move(message)), rank_(rank), secondary_(secondary) {}

}  // namespace meshscope
