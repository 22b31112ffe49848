#include "tests/stand_in/simt.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/stand_in/fiber.h"

namespace meshscope::simt {
namespace {

constexpr unsigned kWarp = 32;

[[noreturn]] void broken(const char* what) {
    std::fprintf(stderr, "a kernel is wrong: %s\n", what);
    std::abort();
}

/// The threads of one block that wait for each other, as fibers; kept for the next block of this host thread.
class Block {
  public:
    /// Runs body(argument) once for each thread.
    void run(Index size, void (*thread)(void (*)(), const void*), void (*kernel)(), const void* parameters) {
        thread_ = thread;
        kernel_ = kernel;
        parameters_ = parameters;
        n_ = size.x * size.y * size.z;
        while (fibers_.size() < n_) fibers_.push_back(std::make_unique<Lane>(*this));
        block_waiting_ = 0;
        warps_.assign((n_ + kWarp - 1) / kWarp, Warp{});
        unsigned alive = n_;
        for (unsigned i = 0; i < n_; ++i) {
            fibers_[i]->state = State::ready;
            fibers_[i]->index = {i % size.x, i / size.x % size.y, i / size.x / size.y};
        }
        running_ = true;
        while (alive > 0) {
            bool went_on = false;
            for (current_ = 0; current_ < n_; ++current_) {
                Lane& lane = *fibers_[current_];
                if (lane.state != State::ready) continue;
                went_on = true;
                now().thread = lane.index;
                Fiber::switch_between(loop_, lane.fiber);
                if (lane.state == State::ended) --alive;
            }
            if (!went_on) broken("some threads wait at a barrier that others never reach");
        }
        running_ = false;
    }

    void sync_block() {
        expect_running();
        if (++block_waiting_ < n_) return wait();
        block_waiting_ = 0;
        for (unsigned i = 0; i < n_; ++i)
            if (fibers_[i]->state == State::waits_block) fibers_[i]->state = State::ready;
    }
    void sync_warp() {
        expect_running();
        Warp& warp = warps_[current_ / kWarp];
        const unsigned first = current_ / kWarp * kWarp, end = std::min(first + kWarp, n_);
        if (++warp.waiting < end - first) return wait(State::waits_warp);
        warp.waiting = 0;
        for (unsigned i = first; i < end; ++i)
            if (fibers_[i]->state == State::waits_warp) fibers_[i]->state = State::ready;
    }
    int sync_block_or(int value) {
        // Between the first barrier and the second all read; after the second one may clear.
        if (value != 0) any_ = 1;
        sync_block();
        const int result = any_;
        sync_block();
        any_ = 0;
        return result;
    }
    uint64_t exchange(uint64_t bits, int apart) {
        expect_running();
        Warp& warp = warps_[current_ / kWarp];
        const unsigned lane = current_ % kWarp;
        // Two sets in turns: who is first may give its next number while others still read this one.
        const unsigned set = fibers_[current_]->exchanges++ % 2;
        warp.given[set][lane] = bits;
        sync_warp();
        const unsigned other = lane ^ static_cast<unsigned>(apart);
        if (current_ / kWarp * kWarp + other >= n_) broken("a shuffle reads a lane that is not there");
        return warp.given[set][other];
    }

  private:
    enum class State { ready, waits_block, waits_warp, ended };
    struct Lane {
        explicit Lane(Block& block) : fiber(&Block::live, &block) {}
        Fiber fiber;
        State state = State::ended;
        Index index;
        unsigned exchanges = 0;
    };
    struct Warp {
        unsigned waiting = 0;
        std::array<std::array<uint64_t, kWarp>, 2> given{};
    };

    /// A fiber's life: one thread of one block after the other.
    static void live(void* block) {
        Block& self = *static_cast<Block*>(block);
        while (true) {
            self.fibers_[self.current_]->exchanges = 0;
            self.thread_(self.kernel_, self.parameters_);
            self.wait(State::ended);
        }
    }
    void wait(State state = State::waits_block) {
        Lane& lane = *fibers_[current_];
        lane.state = state;
        Fiber::switch_between(lane.fiber, loop_);
    }
    void expect_running() const {
        if (!running_) broken("its threads wait for each other, and it was said that they do not");
    }

    std::vector<std::unique_ptr<Lane>> fibers_;
    std::vector<Warp> warps_;
    Fiber loop_;
    unsigned n_ = 0, current_ = 0, block_waiting_ = 0;
    int any_ = 0;
    bool running_ = false;
    void (*thread_)(void (*)(), const void*) = nullptr;
    void (*kernel_)() = nullptr;
    const void* parameters_ = nullptr;
};

Block& block_here() {
    static thread_local Block block;
    return block;
}

}  // namespace

void sync_block() {
    block_here().sync_block();
}
void sync_warp() {
    block_here().sync_warp();
}
int sync_block_or(int value) {
    return block_here().sync_block_or(value);
}
uint64_t exchange(uint64_t bits, int apart) {
    return block_here().exchange(bits, apart);
}

void run_grid(Index grid, Index block, uint32_t shared_bytes, bool together,
              void (*thread)(void (*kernel)(), const void* parameters), void (*kernel)(),
              const void* parameters) {
    // Four floats longer, as an allocation of nothing may give no address.
    std::vector<uint32_t> shared(shared_bytes / sizeof(uint32_t) + 4);
    Now& here = now();
    here.grid_dim = grid;
    here.block_dim = block;
    here.shared = reinterpret_cast<float*>(shared.data());
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                here.block = {x, y, z};
                if (shared_bytes > 0) std::fill(shared.begin(), shared.end(), 0x7FC00000U);
                if (together) {
                    block_here().run(block, thread, kernel, parameters);
                    continue;
                }
                for (unsigned tz = 0; tz < block.z; ++tz)
                    for (unsigned ty = 0; ty < block.y; ++ty)
                        for (unsigned tx = 0; tx < block.x; ++tx) {
                            here.thread = {tx, ty, tz};
                            thread(kernel, parameters);
                        }
            }
}

}  // namespace meshscope::simt
