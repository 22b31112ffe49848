#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/view/memo.h"
#include "app/gui/view/picture.h"
#include "core/memory/ledger.h"
#include "core/trace/trace.h"

namespace meshscope::view {

/// A rank's memory at one event: the highest total among the changes that belong to it.
struct MemoryColumn {
    int32_t event = -1;
    int64_t changes = 0;  ///< how many changes of the rank's list had happened: for memory::live_at
    int64_t total = 0;
    memory::ByCategory bytes{};
    friend bool operator==(const MemoryColumn&, const MemoryColumn&) = default;
};

/// One column an event of the step, in order of issue; events that change nothing keep the level before.
/// Empty when the step has no event. The highest column of the step is memory::peak's. Cost: O(changes +
/// events), with event_of_change's per change.
std::vector<MemoryColumn> memory_columns(const trace::Trace& trace, int32_t rank, int32_t step,
                                         Memo* memo = nullptr);

/// At most `most` columns: neighbours joined to their highest. The peak survives. Cost: one pass.
std::vector<MemoryColumn> join_columns(const std::vector<MemoryColumn>& columns, std::size_t most);

/// Why a step has no memory to show, as a message's id.
inline const char* no_memory(const trace::Trace& trace) {
    return trace.info.level == trace::Level::off ? "view.memory.off" : "view.memory.empty";
}

/// Index of the first highest column.
std::size_t highest(const std::vector<MemoryColumn>& columns);

/// Categories bottom-up: what always stays first, what comes and goes on top. Offloaded memory is the host's and
/// no part of the stack.
inline constexpr std::array<MemoryCategory, kMemoryCategories - 1> kStackOrder{
    MemoryCategory::optimizer_state,      MemoryCategory::sharded_parameters,
    MemoryCategory::parameters,           MemoryCategory::inputs,
    MemoryCategory::activations,          MemoryCategory::gradients,
    MemoryCategory::unsharded_parameters, MemoryCategory::communication,
    MemoryCategory::temporaries};

/// Fill, strength and pattern of a category, put on a shape.
void style_category(Shape& shape, MemoryCategory category);

/// 1, 2 or 5 times a power of ten, at most `largest`/1 apart so that about `lines` lines fit.
int64_t byte_step(int64_t largest, int lines);
/// "2 MB", "500 KB": an axis number, whole in its unit.
std::string axis_bytes(int64_t bytes);

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
