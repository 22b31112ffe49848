#pragma once

#include <cstdint>

namespace meshscope::parallel {

/// How FSDP2 cuts a parameter over `ranks` ranks along dim 0: torch.chunk's rule. Every rank's part has
/// `rows_per_rank` = ⌈rows / ranks⌉ rows on the wire; the last ranks may own fewer, or none, and the rest is
/// padding.
///
/// Example: 5 rows on 4 ranks: 2, 2, 1, 0 rows, 8 travel.
struct RowCut {
    int64_t rows = 0;
    int64_t ranks = 1;

    int64_t rows_per_rank() const { return (rows + ranks - 1) / ranks; }
    int64_t first_row(int64_t rank) const {
        return rank * rows_per_rank() < rows ? rank * rows_per_rank() : rows;
    }
    int64_t rows_of(int64_t rank) const {
        const int64_t left = rows - first_row(rank);
        return left < rows_per_rank() ? left : rows_per_rank();
    }
    int64_t padded_rows() const { return rows_per_rank() * ranks; }
};

}  // namespace meshscope::parallel
