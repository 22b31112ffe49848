#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/view/picture.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// How one mesh dim (or a part of one that was folded) lies in the picture.
struct PlacedDim {
    std::size_t dim = 0;        ///< mesh dim
    int64_t div = 1, size = 1;  ///< its index there = coordinate / div % size
    bool horizontal = true;
    bool inner = true;  ///< neighbours stand next to each other; else whole blocks do
    Point step;         ///< from one index to the next, in pixels
};

/// Where every rank of a mesh stands: a linear (parallel) projection of its coordinates, so lengths compare.
struct MeshLayout {
    std::vector<PlacedDim> dims;     ///< horizontal ones inner first, then vertical ones inner first
    std::vector<Point> positions;    ///< by row-major mesh index
    float pitch_x = 0, pitch_y = 0;  ///< distance of nearest neighbours
    bool skewed = false;             ///< sheets are drawn in parallel projection
    float pitch() const { return pitch_x < pitch_y ? pitch_x : pitch_y; }
};

/// Lays out a mesh in `area`. `kept`: the mesh dims of a slice, in order (empty: no slice); the other dims
/// move its sheets apart by 1.2 cells times `apart` (0 … 1). One dim lies in a row, two as rows and columns,
/// three as sheets side by side, four as a grid of sheets; a row too long for the area is folded. Cost:
/// O(ranks · dims).
MeshLayout mesh_layout(const std::vector<int64_t>& shape, const std::vector<std::size_t>& kept, Rect area,
                       float apart);

/// The coordinate of a row-major index.
std::vector<int64_t> mesh_coordinate(const std::vector<int64_t>& shape, int64_t index);
/// "(1,0)": where the rank stands in the run's mesh; "" where it stands in none.
std::string mesh_place(const trace::Trace& trace, int32_t rank);

}  // namespace meshscope::view
