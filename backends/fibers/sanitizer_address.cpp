#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "backends/fibers/sanitizer.h"

namespace meshscope::backends::fibers {

SanitizedStack::SanitizedStack() = default;  // where it lies is said by the first arrive() behind its leave()

SanitizedStack::SanitizedStack(void* bottom, std::size_t bytes)
    : bottom_(bottom), bytes_(bytes), owned_(true) {}

SanitizedStack::~SanitizedStack() {
    // Frames that were left for ever did not take their marks away; the addresses may become other memory.
    if (owned_) __asan_unpoison_memory_region(bottom_, bytes_);
}

void SanitizedStack::leave(SanitizedStack& next, bool last) {
    next.came_from_ = this;
    __sanitizer_start_switch_fiber(last ? nullptr : &sanitizers_own_, next.bottom_, next.bytes_);
}

void SanitizedStack::arrive() {
    __sanitizer_finish_switch_fiber(sanitizers_own_, &came_from_->bottom_, &came_from_->bytes_);
}

}  // namespace meshscope::backends::fibers
