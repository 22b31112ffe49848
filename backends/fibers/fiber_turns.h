#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/fibers/context.h"
#include "backends/threads/turns.h"

namespace meshscope::backends::fibers {

/// Turns of ranks that are fibers of one thread: each has a context, begun by its first turn.
class FiberTurns final : public threads::Turns {
  public:
    /// Throws std::bad_alloc where there is no memory for the stacks.
    explicit FiberTurns(int32_t ranks);

    /// Runs `body` for every rank, `first` first, and returns when all have left. `body` must not throw.
    void run(int32_t first, const std::function<void(int32_t)>& body);

    void pass(int32_t from, int32_t to) override;
    void leave_to(int32_t to) override { next_ = to; }

  private:
    static constexpr int32_t kNobody = -1;
    struct Fiber {
        FiberTurns* turns = nullptr;
        int32_t rank = 0;
        std::unique_ptr<Context> context;
    };

    static void begin(void* fiber);
    Context& context_of(int32_t rank) { return *fibers_[static_cast<std::size_t>(rank)].context; }

    Context outside_;  ///< whoever calls run()
    std::vector<Fiber> fibers_;
    const std::function<void(int32_t)>* body_ = nullptr;
    int32_t next_ = kNobody;  ///< who follows a rank that left
};

}  // namespace meshscope::backends::fibers
