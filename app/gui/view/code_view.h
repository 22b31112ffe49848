#pragma once

#include "app/gui/view/input.h"

namespace meshscope::view {

/// Why the event is there and where it came from: the rule's sentence, the PyTorch call that does the same,
/// and our own statement with the source around it. The picture may be higher than the size: the panel
/// scrolls. Ids: "source" (the place of the statement, the excerpt's head), "line" a = line number (the lines
/// of the statement). Cost: one pass over the events and one over the sources.
Picture code_view(const Input& input);

/// For the facts column: who issued the event, what it waited for, and the events of the same rule in this
/// step. Ids: "event" a = rank, b = event id. As high as it needs.
Picture code_facts(const Input& input);

/// The place of the event on show as text, "core/parallel/fsdp2/unit.cpp:73"; empty where there is none.
std::string code_location(const Input& input);

}  // namespace meshscope::view
