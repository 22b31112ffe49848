#include <sanitizer/tsan_interface.h>

#include "backends/fibers/sanitizer.h"

namespace meshscope::backends::fibers {

SanitizedStack::SanitizedStack() : sanitizers_own_(__tsan_get_current_fiber()) {}

SanitizedStack::SanitizedStack(void* /*bottom*/, std::size_t /*bytes*/)
    : sanitizers_own_(__tsan_create_fiber(0)), owned_(true) {}

SanitizedStack::~SanitizedStack() {
    if (owned_) __tsan_destroy_fiber(sanitizers_own_);
}

// Called as one fiber and ended as another: the calls that the sanitizer counts would not match.
__attribute__((no_sanitize("thread"))) void SanitizedStack::leave(SanitizedStack& next, bool /*last*/) {
    __tsan_switch_to_fiber(next.sanitizers_own_, 0);  // 0: what happened before is seen there
}

void SanitizedStack::arrive() {}

}  // namespace meshscope::backends::fibers
