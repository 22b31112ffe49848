#pragma once

#include "app/gui/view/input.h"
#include "app/gui/view/traffic.h"

namespace meshscope::view {

struct TrafficOptions {
    TrafficFilter filter;
    /// The filter's traffic, when somebody has it already; null: counted here.
    const Traffic* counted = nullptr;
};

/// Rank × rank bytes, a row a sender, a column a receiver: cividis by amount, the figure in the cell where it
/// fits, sums at the edges where there is room; beside it the bytes inside nodes against those between, and
/// the links themselves. Cells are blocks of ranks where one rank would be under four pixels. The selected
/// rank's row and column, the selected cell and the cells of the selected collective are outlined. Ids:
/// "link" a, b = pack() of sender and receiver; "rank" a = rank; "node" a = node; "traffic_span" a =
/// TrafficSpan; "traffic_op" a = CollectiveOp, -1 all; "traffic_all": the whole matrix again. Cost: O(hops +
/// cells).
Picture traffic_view(const Input& input, const TrafficOptions& options = {});

/// The facts column: which collectives made the selected cell, largest first, and their sum; without a cell,
/// what each kind of collective sent. Height may exceed the size. Ids: "cause" a = rank, b = event id (the
/// first of its kind); "traffic_op"; "sum".
Picture traffic_facts(const Input& input, const TrafficOptions& options = {});

}  // namespace meshscope::view
