#pragma once

#include "app/gui/view/input.h"
#include "app/gui/view/run_end.h"

namespace meshscope::view {

/// The head of the facts of a run that ended early: what to do, who waits for whom (of a mismatch what each
/// calls), the engine's exact words. Ids: "end_show" (goes there), "end_rerun", "end_compare", "end_copy";
/// "wait" a = rank, b = its call's event: the begin of its wait. As high as it needs.
Picture end_facts(const Input& input, const RunEnd& end, WithoutFault without);

}  // namespace meshscope::view
