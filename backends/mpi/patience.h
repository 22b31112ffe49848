#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdint>

namespace meshscope::backends::mpi {

/// What a rank does between two questions to MPI.
class Patience {
  public:
    explicit Patience(bool crowded) : crowded_(crowded) {}
    void once() {
        ++asked_;
        // With a core of one's own giving it away costs nothing; somebody else may want it all the same.
        if (!crowded_ && asked_ < kAlone) return;
        sched_yield();
        if (asked_ % 8 == 0 && (crowded_ || asked_ > 100 * kAlone)) usleep(10);
    }
    /// Now and then: the clock is looked at, peers are listened to.
    bool now_and_then() const { return crowded_ ? asked_ % 8 == 0 : asked_ % 256 == 0; }

  private:
    static constexpr int64_t kAlone = 1000;  ///< questions before anybody else is thought of
    bool crowded_;
    int64_t asked_ = 0;
};

}  // namespace meshscope::backends::mpi
