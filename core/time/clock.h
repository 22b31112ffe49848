#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time/profile.h"
#include "core/trace/trace.h"

namespace meshscope::time {

struct Interval {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
};

enum class ClockKind : uint8_t { measured, modelled };

/// When everything of a trace happened, on one clock. Two clocks exist and never share an axis: what this
/// machine did, and the recorded dependencies played again under a hardware profile.
struct Clock {
    ClockKind kind = ClockKind::measured;
    std::string profile;                        ///< "" when measured
    bool overlap = true;                        ///< Profile::overlap of a modelled clock
    std::vector<std::vector<Interval>> events;  ///< [rank][event id]
    std::vector<std::vector<Interval>> hops;    ///< [rank][index into RankTrace::hops]
    int64_t end_ns = 0;
};

/// The recorded times themselves. Cost: one copy.
Clock measured(const trace::Trace& trace);

/// Plays the trace again under a profile.
///
/// - Each rank's host issues its events in the recorded order, at no cost: a rank never waits on its host.
/// - Each stream of a rank is a queue that runs one event at a time, in order of issue; on p2p each group has
/// its own. Streams run side by side (without
///   Profile::overlap all but sends and receives are one queue), and collectives of different streams do not
///   slow each other on the links, but for node_bytes_per_s, which the groups of one mesh dim that cross a
///   node's border share.
/// - An event begins when its stream is free and everything it depends on has ended. A collective begins on
/// all its
///   members at once, when the last of them has reached it; send and recv are a collective of their two
///   ranks.
/// - A compute event takes compute_ns(). A collective takes launch_ns, then its hops; a rank's part ends with
/// the last
///   hop that it sends or receives. Without hops (a group of one) it is launch_ns alone. A hop that reduces
///   takes bytes / reduce_bytes_per_s more.
/// - A rank has one port to send and one to receive, each busy for the whole hop_ns(). A hop begins when the
/// sender
///   holds the data (all it received in earlier rounds; at first the begin of the collective) and both ports
///   are free. Within a round the hops with the nearest next neighbour (by position in the group, round the
///   ring) go first, so a direct exchange is served without conflict: r sends to r+1, then to r+2, ….
///
/// Hence a ring's all_reduce of n bytes on p ranks takes 2(p-1)(α + n/p·β), its all_gather and its
/// reduce_scatter (p-1)(α + n/p·β), and so does a direct all_gather (one round of p-1 hops a rank): the
/// formulas of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH"
/// (2005), with γ once in each reducing hop.
///
/// What left no hops (Level::collectives, and a library's own collectives, Algorithm::native) is timed by
/// unrecorded_ns(), from the same steps, at the slowest kind of link in the group; a library's as the
/// algorithm that `auto` would choose.
///
/// `absent`: what becomes of a collective that a member never issued. A trace of some ranks of a world (run
/// dry) is played as_present: who recorded nothing is taken to be where the others are.
///
/// A run that failed (RunInfo::failure) is played as far as it came: a collective that somebody never reached
/// or was still in lasts, for who waits in it, to the clock's end, a tenth behind all that did end; events
/// behind it stand at that end without length.
///
/// Whole nanoseconds, each duration rounded up; the same trace and profile give the same clock.
/// Throws InvalidArgument ("time.cannot_replay": rank, event) when the record cannot have happened: a circle
/// of dependencies, a collective that a member never reaches, a hop of ranks that take no part;
/// ("time.bad_profile"). Cost: O(events + dependencies + hops·log hops).
enum class Absent : uint8_t { refused, as_present };
Clock modelled(const trace::Trace& trace, const Profile& profile, Absent absent = Absent::refused);

/// From the first begin to the last end of a step's events over all ranks, an evaluation after it not
/// counted; empty (0, 0) when it has none.
Interval span_of_step(const trace::Trace& trace, const Clock& clock, int32_t step);

}  // namespace meshscope::time
