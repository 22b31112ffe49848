#include "backends/threads/rank_body.h"

#include <exception>
#include <optional>

#include "backends/threads/stepper.h"
#include "backends/threads/thread_transport.h"

namespace meshscope::backends::threads {

void run_rank(ThreadWorldState& world, int32_t rank, const std::function<void(comm::Transport&)>& body) {
    {
        std::optional<ThreadTransport> transport;
        try {
            transport.emplace(world, rank);
            body(*transport);
            // What was posted and never waited for: its buffer may be gone.
            transport->withdraw();
            world.finish(rank);
        } catch (...) {
            if (transport) transport->withdraw();
            world.settle(rank, std::current_exception());
        }
    }
    if (world.stepper() != nullptr) world.stepper()->leave(rank);
}

}  // namespace meshscope::backends::threads
