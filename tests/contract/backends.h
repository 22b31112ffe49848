#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "tests/contract/tcp_threads_world.h"
#include "tests/contract/whole_worlds.h"
#include "tests/sanitizer.h"

namespace meshscope::contract {

/// The backends that must keep the contract. A new one is one more name.
inline std::vector<std::string> backends_under_test() {
    return {"threads", "fibers", "tcp"};
}
/// Those that see when no rank can go on.
inline std::vector<std::string> backends_that_see_deadlocks() {
    return {"threads", "fibers"};
}
/// Whether the cases take every size and mode, or a choice of them.
inline constexpr bool kEverySize = !test::kSanitizer;
/// A world whose ranks all live here. The registry's "tcp" has one rank a process; ours has them on threads.
inline std::unique_ptr<comm::World> open_world(const std::string& backend, int32_t n) {
    if (backend == "tcp") return std::make_unique<TcpThreadsWorld>(n);
    return backends::make_registry()->open(backend, {n});
}
/// Whether groups are those of the backend's own library (NativeGroup), whatever algorithm a case names.
inline bool groups_are_native() {
    return false;
}

}  // namespace meshscope::contract
