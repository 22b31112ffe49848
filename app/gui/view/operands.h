#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace meshscope::view {

/// An operand of a kernel, as far as the record tells.
struct Operand {
    int64_t rows = 0, columns = 0;  ///< 0: nothing is known of it
    std::vector<float> numbers;     ///< row by row; empty: not kept
    bool known() const { return rows > 0 && columns > 0; }
    int64_t elements() const { return rows * columns; }
};

/// The operand that kernels.def calls `which`, as it was before (input) or after (output) the kernel. Cost: a
/// binary search and a copy of the numbers.
Operand operand_of(const trace::Trace& trace, int32_t rank, int32_t event, std::string_view which,
                   trace::SnapshotKind kind);

}  // namespace meshscope::view
