#include <algorithm>

#include "app/gui/view/format.h"
#include "app/gui/view/sheet.h"
#include "app/gui/view/traffic_picture.h"

namespace meshscope::view {
namespace {

constexpr std::size_t kMost = 24;  // causes told one by one

void causes_of(FactList& column, const Input& input, const TrafficFilter& filter, const TrafficCell& cell) {
    const Painter& p = column.p;
    const auto causes = traffic_causes(input.trace, input.clock, input.cursor.t_ns, filter, cell, input.memo);
    column.head(p.say("view.traffic.from_to", {arg("from", name_of(cell.from)), arg("to", name_of(cell.to))}),
                p.say("view.memory.bytes"));
    if (causes.empty()) return column.sentence(p.say("view.traffic.nothing"));
    int64_t sum = 0, rest = 0;
    for (std::size_t i = 0; i < causes.size(); ++i) {
        const TrafficCause& cause = causes[i];
        sum += cause.bytes;
        if (i >= kMost && causes.size() > kMost + 1) {
            rest += cause.bytes;
            continue;
        }
        const std::string unit(input.trace.text(cause.unit)), op(name(cause.op));
        const std::string note =
            p.say("view.traffic.cause",
                  {arg("phase", p.say("view.phase." + std::string(name(cause.phase)))),
                   arg("dim", cause.mesh_dim), arg("calls", cause.calls), arg("hops", cause.hops)});
        column.row(op_hue(cause.op), op + (unit.empty() ? "" : " " + unit),
                   unit.empty() ? op_mark(cause.op) : unit, format_count(cause.bytes), note,
                   {"cause", cause.rank, cause.event});
    }
    if (rest > 0)
        column.row(Token::grey,
                   p.say("view.traffic.rest", {arg("kinds", static_cast<int64_t>(causes.size() - kMost))}),
                   "", format_count(rest), "", {});
    column.sum(p.say("view.memory.sum"), format_count(sum));
    column.space(16);
}

}  // namespace

Picture traffic_facts(const Input& input, const TrafficOptions& options) {
    FactList column(input);
    const Painter& p = column.p;
    if (!tells_hops(input.trace)) {
        column.sentence(p.say(why_no_hops(input.trace)), {"empty"});
        return column.take();
    }
    if (input.selection.cell) causes_of(column, input, options.filter, *input.selection.cell);
    const Traffic counted = options.counted
                                ? *options.counted
                                : traffic(input.trace, input.clock, input.cursor.t_ns, options.filter);
    column.head(p.say("view.traffic.kinds"), p.say("view.memory.bytes"));
    std::vector<std::size_t> ops;
    int64_t sum = 0;
    for (std::size_t op = 0; op < kOps; ++op) {
        if (counted.by_op[op] > 0) ops.push_back(op);
        sum += counted.by_op[op];
    }
    std::stable_sort(ops.begin(), ops.end(),
                     [&](std::size_t a, std::size_t b) { return counted.by_op[a] > counted.by_op[b]; });
    for (const std::size_t op : ops) {
        const auto kind = static_cast<CollectiveOp>(op);
        const double share =
            static_cast<double>(counted.by_op[op]) / static_cast<double>(std::max<int64_t>(1, sum));
        column.row(op_hue(kind), std::string(name(kind)), op_mark(kind), format_count(counted.by_op[op]),
                   p.say("view.traffic.share", {arg("percent", format_percent(share))}),
                   {"traffic_op", static_cast<int64_t>(op)});
    }
    column.sum(p.say("view.memory.sum"), format_count(sum));
    if (counted.beside_bytes > 0)
        column.sentence(
            p.say("view.traffic.beside", {arg("bytes", format_exact_bytes(counted.beside_bytes))}));
    column.space(16);
    if (!input.selection.cell) column.sentence(p.say("view.traffic.hint"));
    return column.take();
}

}  // namespace meshscope::view
