#pragma once

#include <string>

#include "app/gui/view/input.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// The rank a picture speaks of: the selected one, else the selected event's, else the asking rank; within
/// the world.
int32_t focus_rank(const Input& input);
int32_t focus_rank(const trace::Trace& trace, const Selection& selection);

/// "forward net1" and its short forms, longest first: the label of an event's bar.
std::vector<std::string> event_labels(const Painter& painter, const trace::Trace& trace,
                                      const trace::Event& event);

/// "AG", "RS", "AR", …: a collective's name where there is no room for it.
std::string op_mark(CollectiveOp op);

/// What a collective's bar is filled with.
Fill event_pattern(CollectiveOp op);
/// An event's bar as every lane shows it (look.md section 3): compute plain; a collective its hue at 26 %
/// with an outline and the mark of its op.
void event_bar(Painter& painter, const trace::Event& event, const Rect& box, const Id& id);
/// The word in an event's bar, no wider than it. Hatches stop around it: letters on lines are not read.
void event_bar_words(Painter& painter, const trace::Event& event, const Rect& box, const std::string& words,
                     Token colour, Token on, const Id& id);

/// The selected event, when there is one and it exists.
const trace::Event* selected_event(const Input& input);
const trace::Event* selected_event(const trace::Trace& trace, const Selection& selection);

/// True when the rank's steps are cut into micro-batches. Cost: O(its events) where they are not.
bool has_microbatches(const trace::Trace& trace, int32_t rank);

/// True when the event is of a micro-batch: forward and backward are cut into them, set-up, the optimizer and
/// an evaluation are not. Cost as has_microbatches.
bool tells_microbatch(const trace::Trace& trace, int32_t rank, const trace::Event& event);

/// True when the run's phases mean something: a program that only calls collectives has no model, and all of
/// it is recorded as forward. Cost: up to the first collective, or a few thousand events a rank.
bool has_phases(const trace::Trace& trace);
/// The id of what is told where there is no event: `otherwise`, but in a record of the level off that events
/// were not recorded.
std::string no_event_id(const trace::Trace& trace, const char* otherwise);

/// True when both are the same collective as different members saw it.
bool same_collective(const trace::Event& a, const trace::Event& b);

/// An argument of a message.
inline MessageArg arg(std::string name, int64_t value) {
    return {std::move(name), value};
}
inline MessageArg arg(std::string name, std::string value) {
    return {std::move(name), std::move(value)};
}
inline MessageArg arg(std::string name, std::vector<int64_t> value) {
    return {std::move(name), std::move(value)};
}

}  // namespace meshscope::view
