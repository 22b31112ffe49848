#include "backends/fibers/sanitizer.h"

namespace meshscope::backends::fibers {

SanitizedStack::SanitizedStack() = default;
SanitizedStack::SanitizedStack(void* /*bottom*/, std::size_t /*bytes*/) {}
SanitizedStack::~SanitizedStack() = default;
void SanitizedStack::leave(SanitizedStack& /*next*/, bool /*last*/) {}
void SanitizedStack::arrive() {}

}  // namespace meshscope::backends::fibers
