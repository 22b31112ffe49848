#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/view/common.h"
#include "app/gui/view/memory_columns.h"

namespace meshscope::view {

/// The layers of the memory picture, from the back.
enum MemoryLayer : int { kBack, kStacks, kVeil, kLines, kWords, kFlags };

/// One rank's stacked columns in a box.
struct MemoryChart {
    Rect box;
    std::vector<MemoryColumn> columns;
    std::size_t each = 1;  ///< events in a column
    int32_t rank = 0;
    float scale = 1;  ///< pixels a byte
    float x(std::size_t i) const {
        return std::round(box.x + box.w * static_cast<float>(i) / static_cast<float>(columns.size()));
    }
    float top(const MemoryColumn& c) const { return box.y + box.h - static_cast<float>(c.total) * scale; }
};

/// Draws the charts of one picture, all on one scale: that of the step's highest column. All outlive this.
class MemoryCharts {
  public:
    static constexpr float kPad = 24;  ///< between the picture's edge and what is drawn

    MemoryCharts(const Input& input, Painter& painter, const MemoryStep& step)
        : in_(input), p_(painter), step_(step) {}

    MemoryChart chart_of(int32_t rank, Rect box) const;
    /// Ground, grid lines, and their bytes where `numbers`.
    void back(const MemoryChart& c, int lines, bool numbers);
    void stacks(const MemoryChart& c);
    /// The cursor's line, and a veil over what comes after it.
    void cursor(const MemoryChart& c);
    /// A frame around a column.
    void outline(const MemoryChart& c, std::size_t i, float width, float alpha, const Id& id);
    /// The peak's flag: bytes and cause.
    void flag(const MemoryChart& c, std::size_t peak);
    /// Names below the columns, as many as fit.
    void labels(const MemoryChart& c, std::size_t peak, std::optional<std::size_t> picked);
    /// The column that an event of this step stands in.
    std::optional<std::size_t> index_of(const MemoryChart& c, int32_t event) const;

  private:
    std::vector<std::string> column_labels(int32_t rank, int32_t event) const;

    const Input& in_;
    Painter& p_;
    const MemoryStep& step_;
};

}  // namespace meshscope::view
