#include "app/gui/panels/same_class.h"

#include <algorithm>

#include "app/gui/view/paint.h"
#include "core/base/kinds.h"

namespace meshscope::panels {

std::vector<ClassCount> count_collectives(const trace::Trace& trace, view::EventRef ref) {
    std::vector<ClassCount> counts;
    const int32_t step = trace.event(ref.rank, ref.event).step;
    for (const trace::Event& event : trace.ranks[static_cast<size_t>(ref.rank)].events) {
        if (event.kind != trace::EventKind::collective || event.step != step) continue;
        const std::string op(name(event.op));
        auto found =
            std::find_if(counts.begin(), counts.end(), [&](const ClassCount& c) { return c.op == op; });
        if (found == counts.end()) found = counts.insert(counts.end(), {op, view::op_hue(event.op), 0, 0});
        ++found->events;
        found->bytes += event.sent_bytes;
    }
    return counts;
}

}  // namespace meshscope::panels
