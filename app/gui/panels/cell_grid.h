#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/gui/window/looks.h"

namespace meshscope::panels {

/// How many items from the first on may be cells of one matrix, row by row: boxes on whole pixels without an
/// edge, about as large as each other, each right of the one before or in a lower row. At least 1.
size_t cells_from(std::span<const window::LookItem> items);

/// A matrix of cells as shaders/heat.vert reads it.
struct CellGrid {
    std::array<float, 4> place{};
    float radius = 0;
    int columns = 0;
    std::vector<uint32_t> numbers;
};

/// The matrix that these items are the cells of; nothing where they do not stand in rows and columns, or
/// where most of its places would be empty. Cost: linear in the items and in the matrix's places and pixels.
std::optional<CellGrid> cell_grid(std::span<const window::LookItem> items);

}  // namespace meshscope::panels
