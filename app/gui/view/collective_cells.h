#pragma once

#include <string>

#include "app/gui/view/collective_layout.h"
#include "app/gui/view/collective_state.h"
#include "app/gui/view/input.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// The origin of a piece: whose data it is or will be, as a group rank.
int64_t origin_of(const CollectiveState& state, const ChunkState& piece);

/// A member's buffer as a row of pieces. `marks`: room below for the contributors of partial sums.
/// Ids "chunk" a = global rank, b = chunk.
void draw_buffer(Painter& painter, const CollectiveState& state, std::size_t member, Rect row, bool marks);

/// One hop on its path: the way, and the capsule at its place (a pure function of progress) with what it
/// carries. `small`: a symbol alone. `still`: no travel, the capsule stands half way. Id "flight".
void draw_flight(Painter& painter, const CollectiveState& state, const HopState& hop, const Path& path,
                 bool small, bool still);

/// The buffers of all ranks after each round, as small squares: rows are ranks, columns are chunks. The round
/// under way is marked. Ids "hop" a = round. False (and nothing drawn) when `box` is too small.
bool draw_overview(Painter& painter, const trace::Trace& trace, const trace::CollectiveInstance& instance,
                   const CollectiveState& now, Rect box);

}  // namespace meshscope::view
