#pragma once

#include <optional>
#include <string>

#include "app/gui/view/input.h"

namespace meshscope::view {

struct MatricesOptions {
    /// Where a lesson's open question asks who sends to whom: why that is left out. "": it is drawn.
    std::string senders_covered;
    /// Where the pointer is in the picture: of a number of a product there its row of the matrix before and
    /// its column of what it is multiplied by light up, and the products are listed. Only where all of these
    /// numbers were recorded.
    std::optional<Point> pointer = std::nullopt;
};

/// The products of the layer at the cursor as matrices, a band a rank (up to four of four ranks, else two):
/// what comes in, times what this rank has of the weight, and so on to the collective that adds. Each matrix
/// is drawn whole, with the cut; what is not on this rank as ghost cells, the numbers of the rest as heat
/// from −m to m of the matrix' own, in figures where a cell has room. From 33 rows or columns on cells are
/// averages. On top the layer's events, the cursor in them; below, where the weights are gathered for it,
/// what is stored, gathered, whole and freed. Height may exceed the size: the panel scrolls. Ids: "form" a =
/// Form; "kernel" a = rank, b = event id (the cursor goes there); "rank" a = rank; "matrix" a = rank, b =
/// place in the chain; "product", under the pointer, likewise; "note"; "cursor". Cost: O(events of the step
/// and numbers drawn) a rank.
Picture matrices_view(const Input& input, const MatricesOptions& options = {});

/// The facts column: the products in words, what is cut and why the collective is needed, its bytes. Ids:
/// "kernel" as above.
Picture matrices_facts(const Input& input);

}  // namespace meshscope::view
