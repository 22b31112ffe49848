#include "backends/threads/threads_world.h"

#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backends/threads/rank_body.h"
#include "backends/threads/stepper.h"
#include "backends/threads/thread_turns.h"
#include "backends/threads/thread_world_state.h"
#include "core/base/error.h"
#include "core/base/start_thread.h"

namespace meshscope::backends::threads {

ThreadsWorld::ThreadsWorld(int32_t size, comm::InterleavingScheduler* scheduler)
    : size_(size), scheduler_(scheduler) {
    if (size < 1) throw InvalidArgument({"backend.world_size", {{"world_size", static_cast<int64_t>(size)}}});
}

void ThreadsWorld::run(const std::function<void(comm::Transport&)>& body) {
    std::unique_ptr<ThreadTurns> turns;
    std::unique_ptr<Stepper> stepper;
    if (scheduler_ != nullptr) {
        turns = std::make_unique<ThreadTurns>(size_);
        stepper = std::make_unique<Stepper>(size_, *turns, scheduler_);
    }
    ThreadWorldState world(size_, std::move(stepper));
    const auto come_and_run = [&](int32_t rank) {
        if (turns) turns->await(rank);
        run_rank(world, rank, body);
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(size_));
    for (int32_t rank = 0; rank < size_; ++rank) {
        try {
            threads.push_back(start_thread([&come_and_run, rank] { come_and_run(rank); }));
        } catch (...) {
            // The system has no thread for this rank: it failed before it began, and so did those after it.
            for (int32_t missing = rank; missing < size_; ++missing) {
                world.settle(missing, std::current_exception());
                if (turns) world.stepper()->never_comes(missing);
            }
            break;
        }
    }
    if (turns)
        if (const int32_t first = world.stepper()->begin(); first != Stepper::kNobody) turns->leave_to(first);
    for (std::thread& thread : threads) thread.join();
    if (const std::exception_ptr cause = world.first_cause()) std::rethrow_exception(cause);
}

}  // namespace meshscope::backends::threads
