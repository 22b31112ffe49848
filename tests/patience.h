#pragma once

#include <chrono>

namespace meshscope::test {

/// For what must only not last for ever.
inline constexpr std::chrono::milliseconds kGuard{60'000};

/// Whether a promise about time is kept. `attempt` does the thing anew and gives how long it took. A machine
/// that is busy with something else is late now and then, so what was late is tried again, four times at the
/// most; what nothing but a longer time-out ends is late each time.
template <class Attempt>
bool kept(std::chrono::milliseconds promise, const Attempt& attempt) {
    for (int turn = 0; turn < 5; ++turn)
        if (attempt() < promise) return true;
    return false;
}

}  // namespace meshscope::test
