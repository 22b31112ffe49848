#include "backends/fibers/fibers_world.h"

#include <exception>
#include <memory>

#include "backends/fibers/fiber_turns.h"
#include "backends/threads/rank_body.h"
#include "backends/threads/stepper.h"
#include "backends/threads/thread_world_state.h"
#include "core/base/error.h"

namespace meshscope::backends::fibers {

FibersWorld::FibersWorld(int32_t size, comm::InterleavingScheduler* scheduler)
    : size_(size), scheduler_(scheduler) {
    if (size < 1) throw InvalidArgument({"backend.world_size", {{"world_size", static_cast<int64_t>(size)}}});
}

void FibersWorld::run(const std::function<void(comm::Transport&)>& body) {
    FiberTurns turns(size_);
    threads::ThreadWorldState world(size_, std::make_unique<threads::Stepper>(size_, turns, scheduler_));
    const int32_t first = world.stepper()->begin();
    turns.run(first, [&](int32_t rank) { threads::run_rank(world, rank, body); });
    if (const std::exception_ptr cause = world.first_cause()) std::rethrow_exception(cause);
}

}  // namespace meshscope::backends::fibers
