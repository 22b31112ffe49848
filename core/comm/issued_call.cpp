#include "core/comm/issued_call.h"

#include <utility>

#include "core/trace/interner.h"

namespace meshscope::comm {

const IssuedCall CallLog::kNone;

namespace {

Diagnosis seen_from(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size) {
    Diagnosis d;
    d.culprits = {peer.value};
    for (int32_t r = 0; r < world_size; ++r) {
        RankReport report;
        report.rank = r;
        if (r == rank.value) report = report_of(rank, RankState::waiting, calls, peer.value);
        d.ranks.push_back(std::move(report));
    }
    return d;
}

}  // namespace

RankReport report_of(GlobalRank rank, RankState state, const CallLog& calls, int32_t waits_for) {
    return {rank.value, state, report_of(calls.doing()), report_of(calls.last()), waits_for};
}

Diagnosis timeout_diagnosis(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size) {
    Diagnosis d = seen_from(rank, calls, peer, world_size);
    d.kind = DiagnosisKind::timeout;
    d.certain = false;
    return d;
}

namespace {

/// The peer has ended, in one way or the other.
Diagnosis ended_diagnosis(DiagnosisKind kind, RankState state, GlobalRank rank, const CallLog& calls,
                          GlobalRank peer, int32_t world_size) {
    Diagnosis d = seen_from(rank, calls, peer, world_size);
    d.kind = kind;
    d.ranks[static_cast<std::size_t>(peer.value)].state = state;
    if (kind == DiagnosisKind::missing) d.ranks[static_cast<std::size_t>(rank.value)].missing = {peer.value};
    return d;
}

}  // namespace

Diagnosis missing_diagnosis(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size) {
    return ended_diagnosis(DiagnosisKind::missing, RankState::finished, rank, calls, peer, world_size);
}

Diagnosis lost_diagnosis(GlobalRank rank, const CallLog& calls, GlobalRank peer, int32_t world_size) {
    return ended_diagnosis(DiagnosisKind::lost, RankState::lost, rank, calls, peer, world_size);
}

CallReport report_of(const IssuedCall& call) {
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
