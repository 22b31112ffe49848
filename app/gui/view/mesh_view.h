#pragma once

#include "app/gui/view/input.h"

namespace meshscope::view {

struct MeshOptions {
    /// How far the slice of Selection::slice has been pulled apart: 0 = the whole mesh together, 1 = sheets
    /// apart.
    float slice_progress = 1;
};

/// The mesh as a grid of ranks: axes, group lines in each dim's hue and pattern, nodes, the slice's sheets
/// pulled apart, the selected rank's groups as hulls. Reads only RunInfo's mesh of the trace. Ids: "rank" a =
/// rank; "group" a = mesh dim, b = first rank of the group; "axis" a = mesh dim; "node" a = node; "sheet" a =
/// index. Cost: O(ranks · mesh dims).
Picture mesh_view(const Input& input, const MeshOptions& options = {});

/// What every rank gets from Selection::slice: rank, coordinate, the slice's mesh, its group per dim, its
/// local coordinate; the asking rank's row is marked. `height` of the picture may exceed the size: the panel
/// scrolls. Without a slice the rows tell of the whole mesh. A refused slice gives the error box of
/// mesh_facts instead. Ids: "row" a = rank (whole row); "cell" a = rank, b = column.
Picture mesh_table(const Input& input);

/// The facts column of the mesh view: what the asking rank gets (nested list), layout shape:stride of mesh
/// and slice, what group calls it cost (squares), or PyTorch's exact error text. Height may exceed the size.
/// Ids: "layout", "cost" a = mesh dim, "error".
Picture mesh_facts(const Input& input);

}  // namespace meshscope::view
