#pragma once

#include <vector>

#include "app/gui/view/compare_figures.h"
#include "app/gui/view/input.h"

namespace meshscope::view {

struct CompareOptions {
    bool both_clocks = true;  ///< show the switch of clock kinds
    bool choices = true;      ///< where there is one run, what could be laid beside it is offered below
};

/// Runs side by side on one time axis: the lanes of one rank of each in the same step, each step beginning at
/// 0, and below what differs from the first run, with sign and percent. `runs` holds all of them, the first
/// being the one the others are measured against; `input` is the front run's. The picture may be higher than
/// the size: the panel scrolls. Ids: "run" a = index; "event" a = rank, b = event id (front run), "run_event"
/// a = index, b = event id (the others'); "lane_less", "lane_more" a = index (another rank); "close_run" a =
/// index; "clock" a = time::ClockKind; "difference" a = row, b = run; "exposed" a = index; "cursor". Cost: a
/// pass over the step's events and hops of all runs.
Picture compare_view(const Input& input, const std::vector<ComparedRun>& runs,
                     const CompareOptions& options = {});

/// For the facts column: do the weights agree? Losses and final parameters against the first run's: how many
/// were compared, how many are equal bit for bit, the largest difference, and which numbers differ. Ids:
/// "pair" a = run, "number" a = place, "parameter" a = place. As high as it needs. Cost: linear in the
/// parameters.
Picture compare_facts(const Input& input, const std::vector<ComparedRun>& runs);

}  // namespace meshscope::view
