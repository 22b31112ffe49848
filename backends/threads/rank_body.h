#pragma once

#include <cstdint>
#include <functional>

#include "backends/threads/thread_world_state.h"
#include "core/comm/transport.h"

namespace meshscope::backends::threads {

/// One rank's part of World::run, on whatever it runs on: `body` with a transport of its own, and what it
/// ended with told to `world`. Where ranks take turns it has its first, and gives up its last. Throws
/// nothing.
void run_rank(ThreadWorldState& world, int32_t rank, const std::function<void(comm::Transport&)>& body);

}  // namespace meshscope::backends::threads
