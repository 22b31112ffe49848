#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/kinds.h"
#include "core/trace/trace.h"

namespace meshscope::memory {

using ByCategory = std::array<int64_t, kMemoryCategories>;

/// A rank's bytes by category after each change, from the trace's MemoryChange list.
struct Ledger {
    struct Point {
        int32_t after_event = -1;
        int32_t step = -1;
        int64_t total_bytes = 0;
        ByCategory bytes{};
    };
    std::vector<Point> points;  ///< one a change, in the rank's order
};

/// One tensor that was alive at a moment.
struct LiveTensor {
    std::string label;
    MemoryCategory category = MemoryCategory::temporaries;
    int64_t bytes = 0;
};

/// The highest total of a rank, where it was, and what was alive.
struct Peak {
    int64_t bytes = 0;
    int32_t step = -1;
    int32_t point = -1;          ///< index into Ledger::points
    int32_t event = -1;          ///< the event that made it: the first one issued at or after the change, else the last
    std::string cause;           ///< "linear net2 backward", "all_gather net1": op or kernel, unit, phase
    ByCategory by_category{};
    std::vector<LiveTensor> live;  ///< largest first
};

Ledger ledger(const trace::Trace& trace, int32_t rank);
/// The first point with the highest total, in the given step (or over all when step < -1).
Peak peak(const trace::Trace& trace, int32_t rank, int32_t step = -2);
/// What was alive after `changes` changes of the rank's list.
std::vector<LiveTensor> live_at(const trace::Trace& trace, int32_t rank, int64_t changes);

}  // namespace meshscope::memory
