#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/input.h"
#include "app/gui/view/source_location.h"
#include "app/gui/view/stepping.h"

namespace meshscope::view {

/// Why an event is there and where in our sources it came from, as data.
struct CodeFacts {
    EventRef ref;
    std::string subject;  ///< the rule id; of compute events the kernel's name
    Explanation words;
    std::string again;  ///< why it is computed a second time; empty for what is not

    std::string recorded;              ///< what the record names: "core/…/unit.cpp:73"; empty for compute
    std::optional<SourceLocation> place;  ///< the line to show
    bool moved = false;  ///< the recorded line is not in this program's sources: `place` is where the rule
                         ///< or the kernel stands now
    std::optional<SourceLocation>
        named;                         ///< where the rule is named, when the shown statement does not name it
    int64_t places = 0;                ///< compute: how many statements record this name

    /// What it waited for: events it depends on, then what its queue did before (time::queue_of).
    struct Waited {
        EventRef on;
        bool stream = false;  ///< the order of its queue alone
    };
    std::vector<Waited> waited;
    int64_t could_ns = 0, began_ns = 0;  ///< from when it could have begun, and when it did

    std::vector<EventRef> same;  ///< this rank's events of the same rule (kernel) in the same step, in order
    /// The same on all ranks; nothing in records so large that counting would be felt in every frame.
    std::optional<int64_t> same_everywhere;
};

/// The event that the view "Code and why" speaks of: the selected one, else what the rank in focus does at
/// the cursor. Nothing before its first.
std::optional<EventRef> code_event(const Input& input);

/// Records with more events are counted on the event's own rank only.
inline constexpr std::size_t kMostCountedEvents = 200'000;

/// Cost: one pass over the events (of all ranks, up to kMostCountedEvents), and one over the sources.
CodeFacts explain_event(const Input& input, EventRef ref);

}  // namespace meshscope::view
