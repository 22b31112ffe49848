#include "app/gui/view/operands.h"

#include <algorithm>

namespace meshscope::view {

Operand operand_of(const trace::Trace& trace, int32_t rank, int32_t event, std::string_view which,
                   trace::SnapshotKind kind) {
    const trace::RankTrace& record = trace.ranks[static_cast<std::size_t>(rank)];
    const auto range = std::ranges::equal_range(record.snapshots, event, {}, &trace::Snapshot::event);
    for (const trace::Snapshot& s : range) {
        if (s.kind != kind || trace.text(s.operand) != which) continue;
        Operand operand{s.rows, s.columns, {}};
        if (s.values >= 0)
            operand.numbers.assign(record.values.begin() + s.values,
                                   record.values.begin() + s.values + s.elements);
        return operand;
    }
    return {};
}

}  // namespace meshscope::view
