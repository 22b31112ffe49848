#pragma once

#include "app/gui/view/input.h"

namespace meshscope::view {

struct MemoryOptions {
    /// The training step shown; below -1: the one under the cursor.
    int32_t step = -2;
};

/// Stacks by category over the events of a step: the chosen rank large with its peak flagged, every rank
/// small below: all of them, so the picture may be higher than the size and the panel scrolls; ranks of equal
/// memory share a row where rows are many. Chosen: the selected rank, else the asking rank. Ids: "column" a =
/// rank, b = event id; "category" a = category (legend); "peak" a = rank, b = event id; "rank" a = rank;
/// "axis".
Picture memory_view(const Input& input, const MemoryOptions& options = {});

/// The facts column: what was alive at the selected column, else at the cursor's (the peak's where the cursor
/// stands in no event of the step), largest first, with bytes and their sum; its head names the moment.
/// Height may exceed the size. Ids: "tensor" a = index; "sum"; "cause".
Picture memory_facts(const Input& input, const MemoryOptions& options = {});

}  // namespace meshscope::view
