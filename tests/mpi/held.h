#pragma once

#include <vector>

/// What a scripted MPI holds on to: buffers and requests of calls that never end. The leak sanitizer looks
/// here, as it would look into an MPI's own requests.
inline std::vector<const volatile void*>& held_by_mpi() {
    static auto* const held = new std::vector<const volatile void*>;
    return *held;
}
