#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/contract/tcp_threads_world.h"
#include "tests/contract/whole_worlds.h"
#include "tests/cuda/stand_in_registry.h"

namespace meshscope::contract {

/// CUDA's ranks on the stand-in for a GPU.
inline std::vector<std::string> backends_under_test() {
    return {"cuda"};
}
inline std::vector<std::string> backends_that_see_deadlocks() {
    return {"cuda"};
}
/// Every step of a collective is work for the stand-in's interpreter: fewer sizes, and one mode.
inline constexpr bool kEverySize = false;
inline std::unique_ptr<comm::World> open_world(const std::string& backend, int32_t n) {
    if (backend == "tcp") return std::make_unique<TcpThreadsWorld>(n);
    return gpu::stand_in_registry()->open(backend, {n});
}
inline bool groups_are_native() {
    return false;
}

}  // namespace meshscope::contract
