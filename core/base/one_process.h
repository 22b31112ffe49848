#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace meshscope {

/// The backends whose ranks all stand in one process, on its processor, where it is known who waits for whom:
/// such ranks can be run one at a time, and how a run ended is known exactly. The default first.
inline constexpr std::array<std::string_view, 2> kOneProcessBackends{"threads", "fibers"};

constexpr bool is_of_one_process(std::string_view backend) {
    return std::ranges::find(kOneProcessBackends, backend) != kOneProcessBackends.end();
}

/// Whether a backend's ranks compute on GPUs, one each.
constexpr bool is_of_gpus(std::string_view backend) {
    return backend.starts_with("cuda") || backend.starts_with("nccl");
}

}  // namespace meshscope
