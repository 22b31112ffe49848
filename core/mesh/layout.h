#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace meshscope::mesh {

/// A flat shape:stride layout, row-major (lexicographic), always coalesced: index i of the layout stands at
/// offset Σ coordinate_k · stride_k. PyTorch: torch/distributed/_mesh_layout.py, _FlatLayout.
///
/// Coalesced means one spelling for equal layouts: modes of size 1 are dropped, and two neighbours merge when
/// shape_right · stride_right == stride_left. So (2,2):(2,1) is 4:1, and a layout of one element is ():().
///
/// Example: (2,2):(4,1) has the offsets 0, 1, 4, 5.
class Layout {
  public:
    Layout() = default;  ///< one element at offset 0, written ():()
    /// Throws InvalidArgument when the lengths differ, a size is below 1 or a stride below 0.
    Layout(std::vector<int64_t> shape, std::vector<int64_t> stride);

    const std::vector<int64_t>& shape() const { return shape_; }
    const std::vector<int64_t>& stride() const { return stride_; }

    /// How many indices it has: the product of its shape. (2,2):(4,1) → 4.
    int64_t numel() const;
    /// One more than its largest offset. (2,2):(4,1) → 6.
    int64_t cosize() const;

    /// Where index 0 ≤ i < numel() stands. (2,2):(4,1): 2 → 4. Cost: one division a mode. Throws when out of
    /// range.
    int64_t offset(int64_t index) const;
    /// All offsets in index order (PyTorch: all_ranks_from_zero). (2,3):(1,2) → 0, 2, 4, 1, 3, 5. Cost:
    /// numel().
    std::vector<int64_t> offsets() const;
    /// The index whose offset differs from `position` only in the digits that other, orthogonal layouts hold:
    /// this layout's own digits of a position, read as an index. 4:2 at position 5 → 2. Needs
    /// check_orthogonal().
    int64_t index_at(int64_t position) const;
    /// What `position` keeps when this layout's digits are set to 0: the start of the row that holds it.
    /// 4:2 at position 5 → 1. Needs check_orthogonal().
    int64_t base_of(int64_t position) const;

    /// self ∘ inner: first inner picks indices, then self places them. (6,2):(2,1) ∘ 3:2 → 3:2.
    /// Throws InvalidArgument where inner cuts across a mode of self without dividing it (PyTorch:
    /// AssertionError).
    Layout composition(const Layout& inner) const;
    /// The layout of the starts of all other rows, so that self repeated at them covers 0 … world-1 once.
    /// 4:1 in 8 → 2:4; 2:2 in 8 → (2,2):(4,1). Throws when its own modes overlap.
    Layout complement(int64_t world) const;
    /// Every row: self repeated at each start of its complement (PyTorch: global_ranks). 2:2 in 4 → {0,2},
    /// {1,3}.
    std::vector<std::vector<int64_t>> rows(int64_t world) const;

    /// Strides fall from left to right: what slicing asks of the names' order.
    bool check_sorted() const;
    /// No offset twice: sorted by falling stride, each stride is a multiple of the next one's stride · size.
    bool check_orthogonal() const;

    /// "4:2", "(2,2):(4,1)", and "():()" for one element.
    std::string to_text() const;

    friend bool operator==(const Layout&, const Layout&) = default;

  private:
    std::vector<int64_t> shape_, stride_;
};

/// One layout a mesh dim of a row-major array: {2,2,2} → 2:4, 2:2, 2:1.
std::vector<Layout> row_major(std::span<const int64_t> shape);

/// All dims as one flat layout, in order, coalesced. 2:4 and 2:2 → 4:2; 2:4 and 2:1 → (2,2):(4,1).
Layout collapse(std::span<const Layout> dims);

}  // namespace meshscope::mesh
