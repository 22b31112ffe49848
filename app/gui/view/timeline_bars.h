#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/view/input.h"
#include "app/gui/view/memo.h"
#include "app/gui/view/picture.h"
#include "core/base/kinds.h"
#include "core/time/clock.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// Where a rank's events stand in a timeline: a lane a stream, and one for collectives that were called on
/// the compute stream itself (TP's all_reduces, broadcasts at set-up). PyTorch runs those beside it too,
/// while it waits: communication never stands among what is computed. Streams have their own numbers.
enum class Lane : uint8_t {
    compute = static_cast<uint8_t>(Stream::compute),
    all_gather = static_cast<uint8_t>(Stream::all_gather),
    reduce_scatter = static_cast<uint8_t>(Stream::reduce_scatter),
    all_reduce = static_cast<uint8_t>(Stream::all_reduce),
    copy = static_cast<uint8_t>(Stream::copy),
    p2p = static_cast<uint8_t>(Stream::p2p),
    communication
};
inline constexpr std::size_t kLanes = 7;
Lane lane_of(const trace::Event& event);
/// Lanes in the order they are drawn, compute and what it waits for first.
const std::array<Lane, kLanes>& lane_order();
/// The stream's name; of the lane beside compute a word of ours.
std::string lane_name(Lane lane, const Texts& texts);
Token lane_hue(Lane lane);

/// Lanes on which any rank has an event, as lane_order() has them.
std::vector<Lane> lanes_in_use(const trace::Trace& trace, Memo* memo = nullptr);

/// One bar of a lane: an event, or several that are too narrow to tell apart.
struct Bar {
    float x0 = 0, x1 = 0;
    int32_t event = -1;  ///< the first event's id
    int32_t count = 1;   ///< events in it
    int32_t group = -1;  ///< time::Queue::group: bars of one queue of the lane do not overlap
    int32_t row = 0, rows = 1;  ///< the lane's height is shared by so many where queues overlap
};

/// Top and height of a bar in a lane that begins at `y` and is `height` high.
std::pair<float, float> row_of(const Bar& bar, float y, float height);

/// The bars of a lane in ascending order, those narrower than `least` pixels merged with neighbours nearer
/// than that (look.md section 10: under 3 px). A wide bar is never merged. Input bars ascend by x0, are of
/// one queue and do not overlap. Cost: one pass.
std::vector<Bar> merge_narrow(const std::vector<Bar>& bars, float least = 3);

/// merge_narrow of a lane's kernels and, apart from them, of its collectives, which come last and so are
/// drawn over what they stand between: no collective is hidden in a bar of kernels. Those of each queue are
/// merged apart, and where bars of several queues overlap they share the lane's height (Bar::row). Bar::event
/// is an index into `events`. Cost: one pass and one copy; a sort more where there are several queues.
std::vector<Bar> merge_lane(const std::vector<Bar>& bars, const std::vector<trace::Event>& events);

/// For every event of a rank: from when it could have begun (a collective: the end of what its queue did
/// before (time::queue_of) and of all it depends on, so what is left is waiting for the other ranks; compute:
/// the end of what its queue did before) to when it began. Empty (begin == end) for one that did not wait.
/// Cost: O(events + dependencies).
std::vector<time::Interval> waits(const trace::Trace& trace, const time::Clock& clock, int32_t rank);

/// From the first begin to the last end of each step's events on all ranks; [0] is step 0. Empty intervals
/// for steps without events. Cost: one pass over all events.
std::vector<time::Interval> step_intervals(const trace::Trace& trace, const time::Clock& clock,
                                           Memo* memo = nullptr);

/// time::span_of_step(): a step without its evaluation. Cost: one pass over all events, in a large record
/// once.
time::Interval step_span(const trace::Trace& trace, const time::Clock& clock, int32_t step,
                         Memo* memo = nullptr);

/// The step at the cursor: the last that has begun on any rank; -1 in set-up.
int32_t step_at(const trace::Trace& trace, const time::Clock& clock, int64_t t_ns, Memo* memo = nullptr);

}  // namespace meshscope::view
