#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "app/gui/view/call_landings.h"
#include "app/gui/view/paint.h"

namespace meshscope::view {

/// What the rows of algorithms are drawn of (look2.md section 4), and the legend that explains it.

/// How high a place must be for a figure to be read in it: digits have no descenders.
inline constexpr float kLeastFigure = 11.5F;
inline constexpr float kCellGap = 1.5F;  ///< between cells

struct MatrixLook {
    float cell_w = 20, cell_h = 16;
    std::size_t shown_rows = 8, shown_columns = 8;  ///< more members or columns are joined
    bool values = false;    ///< a cell's number is written, else how many ranks are in
    int64_t followed = -1;  ///< the column that is followed; -1: none
    bool faint = false;     ///< what stands there until a hop lands
    float pulse = 0;        ///< how strongly what has just landed is lit, 0 … 1
    int64_t row = 0;
};

float matrix_height(const CallLandings& call, const MatrixLook& look);

/// The buffers of all members, a row each, from the box's corner. `fresh`: places in `cells` that have just
/// landed; of the followed column they are outlined, and where there are none (the start) the column is. Ids
/// "part" a = rank, b = column, and "pip" as pip_id() (algorithms_view.h). Cost: O(cells).
void draw_matrix(Painter& painter, const CallLandings& call, std::span<const CallCell> cells,
                 std::span<const std::size_t> fresh, const Rect& box, const MatrixLook& look);

/// Who sends to whom, as lines between points on a circle; nothing of more than 16 members.
void draw_links(Painter& painter, const CallLandings& call, Point centre, float radius);

struct MatrixLegend {
    std::vector<int32_t> ranks;
    bool origins = false;  ///< parts keep their owner's data
    bool values = false;
    int64_t followed = -1;
    bool predicted = false;  ///< times that are predicted stand beside them
    std::size_t members = 0;
};
/// What the marks mean, from the box's corner in as many rows as its width takes. Gives the y below.
float matrix_legend(Painter& painter, const Rect& box, const MatrixLegend& of);

}  // namespace meshscope::view
