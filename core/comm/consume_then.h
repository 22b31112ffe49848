#pragma once

#include <utility>

namespace meshscope::comm {

/// What every receiving call ends with: `consume` has the bytes, then `release` lets them go, also when
/// `consume` throws.
template <class Consume, class Release>
void consume_then(Consume&& consume, Release&& release) {
    try {
        std::forward<Consume>(consume)();
    } catch (...) {
        release();
        throw;
    }
    release();
}

}  // namespace meshscope::comm
