#pragma once

#include <string>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/traffic_view.h"

namespace meshscope::view {

/// How many cells a side of `pixels` takes before they are folded: four pixels each.
int32_t most_cells(float pixels);

/// The chips of span, op and window.
std::vector<Chip> span_chips(const Painter& painter, const TrafficFilter& filter, int32_t step);
std::vector<Chip> op_chips(const Painter& painter, const Traffic& traffic, const TrafficFilter& filter);

/// Draws the traffic picture's parts: the matrix and what stands beside it.
class TrafficPicture {
  public:
    static constexpr float kPad = 24;
    static constexpr float kBetweenSums = 6;  ///< of two columns, at least
    TrafficPicture(const Input& input, const TrafficOptions& options);
    Picture draw();

  private:
    enum Layer : int { kBack, kCells, kLines, kWords, kMarks };
    float header();
    void matrix(Rect box);
    void cells(Rect box);
    void axis_numbers(Rect box);
    void sums(Rect box);
    void sums_below(Rect box, float beside);
    void node_blocks(Rect box);
    void marks(Rect box);
    void beside(Rect box);
    float split_card(Rect box);
    float ramp(Rect box);
    bool links_drawing(Rect box);
    void links_list(Rect box);
    void draw_link(Point a, Point b, const TrafficLink& link, int64_t most, float bend, float radius);
    void tell();
    Rect cell_box(Rect box, int32_t row, int32_t column) const;
    bool many_nodes() const;
    /// Whether it is unknown what a column's ranks received: receivers record hops, and one of them is
    /// missing.
    bool received_is_unknown(int32_t column) const;
    float widest(const std::vector<int64_t>& sums) const;
    float widest_sum() const;
    std::vector<int64_t> sent_by_row() const;
    std::vector<int64_t> received_by_column() const;
    std::string words_of(int64_t bytes, Face face, float room) const;

    const Input& in_;
    const TrafficOptions& options_;
    Painter p_;
    Traffic counted_;
    const Traffic& traffic_;
    TrafficGrid grid_;
    std::vector<int32_t> missing_;  ///< ranks of which nothing was recorded
    bool low_ = false;
    bool sums_ = false;  ///< of rows and columns, at the edges
};

}  // namespace meshscope::view
