#include "backends/threads/threads_world.h"

#include <exception>
#include <thread>
#include <vector>

#include "backends/threads/thread_transport.h"
#include "backends/threads/thread_world_state.h"
#include "core/base/error.h"
#include "core/base/start_thread.h"

namespace meshscope::backends::threads {

ThreadsWorld::ThreadsWorld(int32_t size, comm::InterleavingScheduler* scheduler)
    : size_(size), scheduler_(scheduler) {
    if (size < 1) throw InvalidArgument({"backend.world_size", {{"world_size", static_cast<int64_t>(size)}}});
}

void ThreadsWorld::run(const std::function<void(comm::Transport&)>& body) {
    ThreadWorldState world(size_, scheduler_);
    const auto run_rank = [&](int32_t rank) {
        ThreadTransport transport(world, rank);
        if (world.stepper() != nullptr) world.stepper()->enter(rank);
        try {
            body(transport);
            // What was posted and never waited for: its buffer may be gone.
            transport.withdraw();
            world.finish(rank);
        } catch (...) {
            transport.withdraw();
            world.settle(rank, std::current_exception());
        }
        if (world.stepper() != nullptr) world.stepper()->leave(rank);
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(size_));
    for (int32_t rank = 0; rank < size_; ++rank) {
        try {
            threads.push_back(start_thread([&run_rank, rank] { run_rank(rank); }));
        } catch (...) {
            // The system has no thread for this rank: it failed before it began, and so did those after it.
            for (int32_t missing = rank; missing < size_; ++missing) {
                world.settle(missing, std::current_exception());
                if (world.stepper() != nullptr) world.stepper()->leave(missing);
            }
            break;
        }
    }
    for (std::thread& thread : threads) thread.join();
    if (const std::exception_ptr cause = world.first_cause()) std::rethrow_exception(cause);
}

}  // namespace meshscope::backends::threads
