#include "backends/fibers/fiber_turns.h"

#include <utility>

namespace meshscope::backends::fibers {

FiberTurns::FiberTurns(int32_t ranks) : fibers_(static_cast<std::size_t>(ranks)) {
    for (int32_t r = 0; r < ranks; ++r) {
        Fiber& fiber = fibers_[static_cast<std::size_t>(r)];
        fiber.turns = this;
        fiber.rank = r;
        fiber.context = std::make_unique<Context>(&FiberTurns::begin, &fiber);
    }
}

void FiberTurns::begin(void* fiber) {
    const Fiber& mine = *static_cast<const Fiber*>(fiber);
    FiberTurns& turns = *mine.turns;
    (*turns.body_)(mine.rank);
    const int32_t next = std::exchange(turns.next_, kNobody);
    mine.context->leave_to(next == kNobody ? turns.outside_ : turns.context_of(next));
}

void FiberTurns::run(int32_t first, const std::function<void(int32_t)>& body) {
    body_ = &body;
    outside_.switch_to(context_of(first));
    body_ = nullptr;
}

void FiberTurns::pass(int32_t from, int32_t to) {
    context_of(from).switch_to(context_of(to));
}

}  // namespace meshscope::backends::fibers
