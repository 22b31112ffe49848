#pragma once

#include "app/gui/view/input.h"
#include "app/gui/view/parameter_life.h"

namespace meshscope::view {

/// Who owns which rows of a unit's parameters, and what each rank has of them at the cursor: every array
/// drawn whole for each rank, its own part filled, gathered copies and gradients beside it; below, the unit's
/// shards as they travel, with their padding; and the life of the chosen parameter on the ranks through the
/// step. Ranks that keep the same share a column where they are many, columns are joined where they would be
/// too narrow. Height may exceed the size: the panel scrolls. Ids: "parameter_unit" a = unit;
/// "parameter_next" a = -1 or 1; "weight" a = rank + (place in the unit << 32), b = row; "parameter" a =
/// place in the unit; "life" a = rank, b = event id; "run" a = rank, b = run; "rank" a = rank. Cost: O(events
/// and memory changes of the step) for each rank drawn.
Picture parameters_view(const Input& input);

/// The facts column: what the rank keeps of the selected parameter (row), who else has it, and its life in
/// the step, each change with the event that made it. Height may exceed the size. Ids: "life" a = rank, b =
/// event id; "rank" a = rank (who keeps the row).
Picture parameters_facts(const Input& input);

}  // namespace meshscope::view
