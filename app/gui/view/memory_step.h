#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/gui/view/memory_columns.h"

namespace meshscope::view {

/// All ranks' memory in one step: ranks that did the same share their columns, so that a thousand ranks cost
/// what the few different ones do.
struct MemoryStep {
    std::vector<std::vector<MemoryColumn>> distinct;  ///< memory_columns() of the first rank of each kind
    std::vector<int32_t> kind;                        ///< by rank: its place in `distinct`
    /// By kind: the first kind of the same bytes event by event, whatever made them.
    std::vector<int32_t> alike;
    int64_t most = 0;  ///< bytes of the highest column
    std::array<bool, kMemoryCategories> present{};

    const std::vector<MemoryColumn>& of(int32_t rank) const {
        return distinct[static_cast<std::size_t>(kind[static_cast<std::size_t>(rank)])];
    }
    /// Of a rank's kind: `alike`. Two ranks of one look hold equal bytes through the whole step.
    int32_t look(int32_t rank) const {
        return alike[static_cast<std::size_t>(kind[static_cast<std::size_t>(rank)])];
    }
};

/// What memory_columns() gives for every rank. Cost: a pass over all memory changes up to the step, and
/// memory_columns() a kind of rank; in a large record once a step.
std::shared_ptr<const MemoryStep> memory_step(const trace::Trace& trace, int32_t step, Memo* memo = nullptr);

}  // namespace meshscope::view
