#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::time {

struct Interval {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
};

enum class ClockKind : uint8_t { measured, modelled };

/// When everything of a trace happened, on one clock. Two clocks exist and never share an axis: what this machine did,
/// and the recorded dependencies played again under a hardware profile.
struct Clock {
    ClockKind kind = ClockKind::measured;
    std::string profile;                         ///< "" when measured
    std::vector<std::vector<Interval>> events;   ///< [rank][event id]
    std::vector<std::vector<Interval>> hops;     ///< [rank][index into RankTrace::hops]
    int64_t end_ns = 0;
};

/// Speeds that recorded work is re-timed under. Kinds of link: inside a node and between nodes.
struct Profile {
    std::string name;
    double flops_per_s = 0;
    double memory_bytes_per_s = 0;
    int64_t launch_ns = 0;                 ///< before each compute event and each collective
    int64_t latency_inside_ns = 0, latency_between_ns = 0;      ///< a hop
    double bandwidth_inside_bytes_per_s = 0, bandwidth_between_bytes_per_s = 0;
};

/// The slow profile of lessons: its times can be followed by eye (µs for toy models, bars of like size).
Profile classroom();

/// The recorded times themselves.
Clock measured(const trace::Trace& trace);

/// Plays the trace again: each rank issues in its recorded order at no cost; each stream runs its events in order; an
/// event starts when its dependencies have ended and, for a collective, when every member has reached it; hops of a
/// round run at once, each after its sender's data of the round before has arrived, links taking latency + bytes /
/// bandwidth. Deterministic. Cost: O(events + hops).
Clock modelled(const trace::Trace& trace, const Profile& profile);

}  // namespace meshscope::time
