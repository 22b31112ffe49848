#include "core/trace/recorded.h"

#include "core/base/recorded_failure.h"

namespace meshscope::trace {

std::vector<int32_t> unrecorded_ranks(const Trace& trace) {
    const auto failure = read_failure(trace.info.failure);
    if (!failure) return {};
    std::vector<int32_t> missing;
    for (const int32_t rank :
         failure->unrecorded)  // a record can come from anywhere: what it holds is believed first
        if (std::ranges::count(trace.info.mesh_ranks, rank) > 0 &&
            static_cast<std::size_t>(rank) < trace.ranks.size() &&
            trace.ranks[static_cast<std::size_t>(rank)].events.empty())
            missing.push_back(rank);
    return missing;
}

}  // namespace meshscope::trace
