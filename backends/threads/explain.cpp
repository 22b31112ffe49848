// Board's half that explains: where a chain of waits leads, and what every rank was doing.
#include <algorithm>
#include <utility>

#include "backends/threads/board.h"
#include "core/comm/call_info.h"

namespace meshscope::backends::threads {

int32_t Board::waits_for_locked(int32_t rank) const {
    const Seat& its = *seats_[static_cast<std::size_t>(rank)];
    return its.finished.load(std::memory_order_seq_cst) ? Seat::kAwake
                                                        : its.waits_for.load(std::memory_order_seq_cst);
}

RankReport Board::report_locked(int32_t rank, int32_t caller) const {
    const Seat& its = *seats_[static_cast<std::size_t>(rank)];
    const bool ended = its.finished.load(std::memory_order_seq_cst);
    const int32_t peer = waits_for_locked(rank);
    RankReport report;
    report.rank = rank;
    if (ended)
        report.state = its.end;
    else if (peer == Seat::kStalled)
        report.state = RankState::stalled;
    else if (peer != Seat::kAwake)
        report.state = RankState::waiting;
    else
        report.state = its.end;  // running, or dying
    if (peer >= 0) report.waits_for = peer;
    // A rank that runs may be changing what it says.
    if (!ended && peer == Seat::kAwake && rank != caller) return report;
    return comm::report_of(GlobalRank{rank}, report.state, its.calls, report.waits_for);
}

Diagnosis Board::diagnosis_locked(DiagnosisKind kind, int32_t caller) const {
    Diagnosis d;
    d.kind = kind;
    for (int32_t r = 0; r < world_size(); ++r) d.ranks.push_back(report_locked(r, caller));
    return d;
}

bool Board::is_waited_for_locked(int32_t rank) const {
    for (int32_t r = 0; r < world_size(); ++r)
        if (waits_for_locked(r) == rank) return true;
    return false;
}

bool Board::somebody_runs_locked() const {
    for (int32_t r = 0; r < world_size(); ++r)
        if (!seats_[static_cast<std::size_t>(r)]->finished.load(std::memory_order_seq_cst) &&
            waits_for_locked(r) == Seat::kAwake)
            return true;
    return false;
}

bool Board::leads_nowhere_locked(int32_t rank) {
    // The chain from `rank` has at most one edge a rank; walking further means going round.
    std::vector<int32_t> chain{rank};
    int32_t at = waits_for_locked(rank);
    while (at >= 0 && at != rank) {
        // A ring that does not contain `rank` was found by whoever closed it.
        if (static_cast<int32_t>(chain.size()) > world_size()) return false;
        chain.push_back(at);
        at = waits_for_locked(at);
    }
    int32_t stalled = -1;
    if (at == Seat::kStalled) {
        stalled = chain.back();
        // A rank that has just stalled stops nobody yet, unless somebody already waits for it or nobody runs.
        if (stalled == rank && !is_waited_for_locked(rank) && somebody_runs_locked()) return false;
    } else if (at != rank) {
        return false;  // it ends at a rank that runs, or that ended: whoever waits for that one learns it
    }
    Diagnosis d = diagnosis_locked(stalled >= 0 ? DiagnosisKind::stalled : DiagnosisKind::deadlock, rank);
    if (stalled >= 0) {
        d.culprits = {stalled};
    } else {
        // Named from the lowest rank on, so that the report does not depend on who fell asleep last.
        std::rotate(chain.begin(), std::min_element(chain.begin(), chain.end()), chain.end());
        d.cycle = chain;
        d.culprits = chain;
        std::sort(d.culprits.begin(), d.culprits.end());
    }
    const int32_t first = d.culprits.front();
    fail_locked(first, std::make_exception_ptr(DiagnosedError(std::move(d), GlobalRank{first})));
    return true;
}

void Board::throw_finished(int32_t rank, int32_t peer, comm::Channel) {
    {
        const std::lock_guard lock(mutex_);
        if (!aborted()) {
            Diagnosis d = diagnosis_locked(DiagnosisKind::missing, rank);
            // Of the group that makes the call, all that ended without it.
            d.culprits = {peer};
            for (const int32_t member : d.ranks[static_cast<std::size_t>(rank)].call.group_ranks)
                if (member != peer && seat(member).finished.load(std::memory_order_seq_cst))
                    d.culprits.push_back(member);
            std::sort(d.culprits.begin(), d.culprits.end());
            d.ranks[static_cast<std::size_t>(rank)].state = RankState::waiting;
            d.ranks[static_cast<std::size_t>(rank)].waits_for = peer;
            const DiagnosedError error(std::move(d), GlobalRank{rank});
            fail_locked(rank, std::make_exception_ptr(error));
            throw error;
        }
    }
    throw_secondary(rank);
}

void Board::die(int32_t rank) {
    {
        const std::lock_guard lock(mutex_);
        if (!aborted()) {
            seat(rank).end = RankState::lost;
            Diagnosis d = diagnosis_locked(DiagnosisKind::lost, rank);
            d.culprits = {rank};
            const DiagnosedError error(std::move(d), GlobalRank{rank});
            fail_locked(rank, std::make_exception_ptr(error));
            throw error;
        }
    }
    throw_secondary(rank);
}

void Board::stall(int32_t rank) {
    while (!aborted()) {
        std::unique_lock lock(mutex_);
        seat(rank).waits_for.store(Seat::kStalled, std::memory_order_seq_cst);
        sleep(rank, lock);
    }
    throw_secondary(rank);
}

}  // namespace meshscope::backends::threads
