#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/kinds.h"
#include "core/trace/trace.h"

namespace meshscope::memory {

using ByCategory = std::array<int64_t, kMemoryCategories>;

/// A rank's bytes by category after each change, from the trace's MemoryChange list. total_bytes is what the
/// device holds: the sum of bytes without the offloaded ones, which lie in the host's memory.
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

/// Whether a category is the device's memory.
inline constexpr bool on_device(MemoryCategory category) {
    return category != MemoryCategory::offloaded;
}

/// The highest total of a rank, where it was, and what was alive.
struct Peak {
    int64_t bytes = 0;
    int32_t step = -1;
    int32_t point = -1;  ///< index into Ledger::points; -1: the rank never held memory
    int32_t event = -1;  ///< the event that made it, see event_of_change(); -1: the rank has no event
    std::string what;    ///< "linear net2": the cause without its phase
    Phase phase = Phase::setup;
    std::string cause;  ///< "linear net2 backward", "all_gather net1 forward": op or kernel, unit, phase
    ByCategory by_category{};
    std::vector<LiveTensor> live;  ///< largest first
};

/// A rank's memory after each change. Cost: one pass over the rank's changes.
/// Throws InvalidArgument ("memory.no_rank") for a rank that the trace does not hold; so do all functions
/// here.
Ledger ledger(const trace::Trace& trace, int32_t rank);

/// The first point with the highest total, in the given step (or over all when step < -1; -1 is set-up). A
/// step in which nothing changed holds what the one before left: the last point before it is its peak. Cost:
/// two passes and a sort.
Peak peak(const trace::Trace& trace, int32_t rank, int32_t step = -2);

/// What was alive on the device after the first `changes` changes of the rank's list, largest first, equal
/// ones oldest first. Throws InvalidArgument ("memory.no_change") when the list is shorter. Cost: one pass
/// and a sort.
std::vector<LiveTensor> live_at(const trace::Trace& trace, int32_t rank, int64_t changes);

/// The event that change number `change` of the rank belongs to: the compute event that was under way (its
/// kernel asked for the memory), else the first one issued after it (memory is asked for before the
/// collective that fills it is issued), else the rank's last; -1 when the rank has no event.
int32_t event_of_change(const trace::Trace& trace, int32_t rank, int64_t change);

/// "linear net2": the kernel or the collective and its unit, with single spaces; empty parts are left out.
/// Words of the record, in no human language; the phase, which has a word in each, is left to the reader.
std::string what_text(const trace::Trace& trace, const trace::Event& event);

}  // namespace meshscope::memory
