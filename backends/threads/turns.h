#pragma once

#include <cstdint>

namespace meshscope::backends::threads {

/// How, in a world whose ranks take turns, one rank stops and another goes on. Whose turn it is the Stepper
/// decides; what a rank runs on (a thread, a fiber) is known here alone.
class Turns {
  public:
    virtual ~Turns() = default;
    /// `from`, whose turn it is, stops and `to` goes on; returns when it is the turn of `from` again.
    virtual void pass(int32_t from, int32_t to) = 0;
    /// The rank whose turn it is has left, or nobody had one yet: the turn is `to`'s.
    virtual void leave_to(int32_t to) = 0;
};

}  // namespace meshscope::backends::threads
