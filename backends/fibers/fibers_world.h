#pragma once

#include <cstdint>
#include <functional>

#include "core/comm/interleaving_scheduler.h"
#include "core/comm/transport.h"

namespace meshscope::backends::fibers {

/// Ranks that take turns on the thread which calls run(): a world that needs no threads, so it runs where
/// there are none (in a browser), and a rank costs a stack and a queue for each other rank. A rank goes on
/// until it has to wait for another, or, with a scheduler, until the scheduler chooses another before a
/// message; the same order every time.
///
/// Messages, errors and diagnoses are those of threads::ThreadsWorld, whose transport and state it uses.
/// Since nothing runs beside a rank, the moment in which nobody can go on is the moment in which the last one
/// stops.
class FibersWorld final : public comm::World {
  public:
    /// Throws InvalidArgument ("backend.world_size") below 1.
    explicit FibersWorld(int32_t size, comm::InterleavingScheduler* scheduler = nullptr);
    int32_t size() const override { return size_; }
    /// As World::run; std::bad_alloc, before any rank begins, where there is no memory for their stacks.
    void run(const std::function<void(comm::Transport&)>& body) override;

  private:
    int32_t size_;
    comm::InterleavingScheduler* scheduler_;
};

}  // namespace meshscope::backends::fibers
