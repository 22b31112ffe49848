#include "core/comm/call_info.h"

#include "core/trace/interner.h"

namespace meshscope::comm {

CallReport report_of(const CallInfo& call) {
    CallReport report;
    if (!call.group) return report;
    report.op = name(call.op);
    report.group = call.group->name;
    for (const GlobalRank rank : call.group->ranks) report.group_ranks.push_back(rank.value);
    report.sequence = call.sequence;
    if (call.peer >= 0 && call.peer < static_cast<int32_t>(report.group_ranks.size()))
        report.peer = report.group_ranks[static_cast<std::size_t>(call.peer)];
    if (call.reduce_op != ReduceOp::none) report.reduce_op = name(call.reduce_op);
    if (call.op != CollectiveOp::barrier) {
        report.dtype = name(call.dtype);
        report.in_elements = call.in_elements;
        report.out_elements = call.out_elements;
    }
    report.factor = call.factor;
    report.stream = name(call.stream);
    report.algorithm = name(call.algorithm);
    report.phase = name(call.phase);
    report.step = call.step;
    report.source = trace::path_below_root(call.source.file_name());
    if (!report.source.empty()) report.source += ":" + std::to_string(call.source.line());
    return report;
}

}  // namespace meshscope::comm
