#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshscope::mesh {

/// A flat shape:stride layout, row-major (lexicographic), always coalesced: index i of the layout stands at offset
/// Σ coordinate_k · stride_k. PyTorch: torch/distributed/_mesh_layout.py, _FlatLayout.
///
/// Example: (2,2):(4,1) has the offsets 0, 1, 4, 5.
class Layout {
  public:
    Layout() = default;  ///< one element at offset 0
    Layout(std::vector<int64_t> shape, std::vector<int64_t> stride);

    const std::vector<int64_t>& shape() const { return shape_; }
    const std::vector<int64_t>& stride() const { return stride_; }

  private:
    std::vector<int64_t> shape_, stride_;
};

}  // namespace meshscope::mesh
