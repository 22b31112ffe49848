#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

/// What a record holds and what it does not: unknown is not zero.
namespace meshscope::trace {

/// A level in the words of scenarios and options.
constexpr std::string_view name(Level level) {
    constexpr std::string_view kNames[] = {"off", "collectives", "hops", "values"};
    return kNames[static_cast<std::size_t>(level)];
}

/// The ranks of the mesh whose record was lost, as what put the record together wrote down
/// (RunInfo::failure); ascending; none in a whole run. What they did is unknown, and so is every mean and sum
/// over all ranks. A rank that did nothing is not one of them.
std::vector<int32_t> unrecorded_ranks(const Trace& trace);

/// Whether the record tells how many bytes an event sent. Of a library's own collective (Algorithm::native)
/// nobody tells what travelled, and Event::sent_bytes is 0 whatever it was.
inline bool tells_sent_bytes(const Event& event) {
    return event.kind != EventKind::collective || event.algorithm != Algorithm::native ||
           is_point_to_point(event.op);
}

/// The end of the steps of which the record may hold events: the run's, and one more where it failed in a
/// step, which then has no loss. Cost: O(ranks).
inline int32_t recorded_end(const Trace& trace) {
    int32_t end = trace.info.steps;
    for (const RankTrace& rank : trace.ranks)
        if (!rank.events.empty()) end = std::max(end, rank.events.back().step + 1);  // they ascend
    return end;
}

/// The first step of which the record holds an event; the number of steps where it holds none. What lies
/// before it was done by an earlier run, from whose checkpoint this one went on, and is not recorded.
inline int32_t first_recorded_step(const Trace& trace) {
    int32_t first = trace.info.steps;
    for (const RankTrace& rank : trace.ranks)
        for (const Event& event : rank.events) {
            if (event.step < 0) continue;
            first = std::min(first, event.step);
            break;  // they ascend
        }
    return first;
}

}  // namespace meshscope::trace
