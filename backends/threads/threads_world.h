#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/comm/interleaving_scheduler.h"
#include "core/comm/transport.h"

namespace meshscope::backends::threads {

/// Ranks as threads of this process: run() starts one thread a rank and joins them all. A message is a
/// pointer to the sender's own buffer, so a hop costs one read of it. Can be run many times; each run begins
/// anew.
///
/// Errors beyond Transport's, each a DiagnosedError that all ranks are told: a ring of ranks that wait for
/// each other or a stalled one at once, a rank that died or ended too soon when no other can go on (see
/// ThreadWorldState).
///
/// With a scheduler the world is stepped: one rank runs at a time, in the order the scheduler says.
class ThreadsWorld final : public comm::World {
  public:
    /// Throws InvalidArgument ("backend.world_size") below 1.
    explicit ThreadsWorld(int32_t size, comm::InterleavingScheduler* scheduler = nullptr);
    int32_t size() const override { return size_; }
    void run(const std::function<void(comm::Transport&)>& body) override;

  private:
    int32_t size_;
    comm::InterleavingScheduler* scheduler_;
};

}  // namespace meshscope::backends::threads
