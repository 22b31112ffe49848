#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/nccl/nccl_world.h"
#include "backends/registry.h"
#include "tests/contract/tcp_threads_world.h"
#include "tests/contract/whole_worlds.h"
#include "tests/nccl/fake.h"

namespace meshscope::contract {

/// NCCL's stand-in, over ranks that meet on threads, or over TCP as processes do.
inline std::vector<std::string> backends_under_test() {
    return {"nccl over threads"};
}
/// Whether the cases take every size and mode, or a choice of them.
inline constexpr bool kEverySize = true;
inline bool groups_are_native() {
    return true;
}

/// `identity` is the device of a rank; empty: each has its own.
inline std::unique_ptr<comm::World> open_nccl_world(
    const std::string& beneath, int32_t n, backends::nccl::NcclOptions options = {},
    const std::function<std::string(GlobalRank)>& identity = {}) {
    std::unique_ptr<comm::World> inner;
    if (beneath == "tcp")
        inner = std::make_unique<TcpThreadsWorld>(n);
    else
        inner = backends::make_registry()->open("threads", {n});
    return std::make_unique<backends::nccl::NcclWorld>(
        std::move(inner), nccl_test::Fake::the().library,
        [identity](GlobalRank rank) {
            return backends::nccl::make_host_rank_device(identity ? identity(rank) : std::string());
        },
        options);
}

inline std::unique_ptr<comm::World> open_world(const std::string& backend, int32_t n) {
    return open_nccl_world(backend == "nccl over tcp" ? "tcp" : "threads", n);
}

}  // namespace meshscope::contract
