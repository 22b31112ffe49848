#pragma once

#include <optional>
#include <string>

#include "app/gui/view/input.h"
#include "app/gui/view/run_end.h"
#include "core/mesh/device_mesh.h"

namespace meshscope::view {

struct MeshOptions {
    /// How far the slice of Selection::slice has been pulled apart: 0 = the whole mesh together, 1 = sheets
    /// apart.
    float slice_progress = 1;
    /// A mesh to show instead of the run's, over ranks 0 … product-1; empty: the run's own. Names may be
    /// empty.
    mesh::Shape shape;
    mesh::Names names;
    /// A lesson's open question asks for ranks: groups and slices stand as "?" in the table.
    bool covered = false;
    /// The number that it asks for: the facts leave the calls out when there are as many.
    std::optional<double> asked;
    /// How the run ended early: ranks that died are crossed out, and lines lead from those that wait to those
    /// that they wait for, each from the time on at which it came to stand; null: nothing of this.
    const RunEnd* end = nullptr;
};

/// The mesh as a grid of ranks: axes, group lines in each dim's hue and pattern, nodes, the slice's sheets
/// pulled apart, the selected rank's groups as hulls. Reads only RunInfo's mesh of the trace. Ids: "rank" a =
/// rank; "group" a = mesh dim, b = first rank of the group; "axis" a = mesh dim; "node" a = node; "sheet" a =
/// its first rank; "wait" a = rank, b = its call's event (a line to one that it waits for); "end" a = rank
/// (what marks how it stood; -1: what the marks mean). Cost: O(ranks · mesh dims), and the waits.
Picture mesh_view(const Input& input, const MeshOptions& options = {});

/// What every rank gets from Selection::slice: rank, coordinate, the slice's mesh, its group per dim, its
/// local coordinate; the asking rank's row is marked. `height` of the picture may exceed the size: the panel
/// scrolls. Without a slice the rows tell of the whole mesh; of a refused slice, the refusal. Ids: "rank" a =
/// rank (whole row); "cell" a = rank, b = column; "error".
Picture mesh_table(const Input& input, const MeshOptions& options = {});

/// The facts column of the mesh view: what the asking rank gets (nested list), layout shape:stride of mesh
/// and slice, what group calls it cost (squares), or PyTorch's exact error text. Height may exceed the size.
/// Ids: "answer"; "layout" a = mesh dim; "cost" a = mesh dim; "error".
Picture mesh_facts(const Input& input, const MeshOptions& options = {});

}  // namespace meshscope::view
