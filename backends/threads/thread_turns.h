#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/threads/turns.h"

namespace meshscope::backends::threads {

/// Turns of ranks that are threads: those whose turn it is not sleep on a futex each. What a rank did before
/// it gave up its turn is seen by whoever has it next. Cost: one wake-up a turn.
class ThreadTurns final : public Turns {
  public:
    explicit ThreadTurns(int32_t ranks) : tokens_(static_cast<std::size_t>(ranks)) {}

    /// Returns when it is the turn of `rank`: the first thing that its thread does.
    void await(int32_t rank) {
        std::atomic<uint32_t>& token = token_of(rank);
        token.wait(0, std::memory_order_acquire);
        token.store(0, std::memory_order_relaxed);
    }
    void pass(int32_t from, int32_t to) override {
        leave_to(to);
        await(from);
    }
    void leave_to(int32_t to) override {
        std::atomic<uint32_t>& token = token_of(to);
        token.store(1, std::memory_order_release);
        token.notify_one();
    }

  private:
    struct alignas(64) Token {
        std::atomic<uint32_t> here{0};
    };

    std::atomic<uint32_t>& token_of(int32_t rank) { return tokens_[static_cast<std::size_t>(rank)].here; }

    std::vector<Token> tokens_;
};

}  // namespace meshscope::backends::threads
