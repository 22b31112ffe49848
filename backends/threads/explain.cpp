// ThreadWorldState's half that explains: where a chain of waits leads, and what every rank was doing.
#include <algorithm>
#include <utility>

#include "backends/threads/thread_world_state.h"
#include "core/comm/issued_call.h"

namespace meshscope::backends::threads {

int32_t ThreadWorldState::waits_for_locked(int32_t rank) const {
    const RankSlot& its = *slots_[static_cast<std::size_t>(rank)];
    return its.finished.load(std::memory_order_seq_cst) ? RankSlot::kAwake
                                                        : its.waits_for.load(std::memory_order_seq_cst);
}

RankReport ThreadWorldState::report_locked(int32_t rank, int32_t caller) const {
    const RankSlot& its = *slots_[static_cast<std::size_t>(rank)];
    const bool ended = its.finished.load(std::memory_order_seq_cst);
    const int32_t peer = waits_for_locked(rank);
    RankReport report;
    report.rank = rank;
    if (ended)
        report.state = its.end;
    else if (peer == RankSlot::kStalled)
        report.state = RankState::stalled;
    else if (peer != RankSlot::kAwake)
        report.state = RankState::waiting;
    else
        report.state = its.end;  // running, or dying
    if (peer >= 0) report.waits_for = peer;
    // A rank that runs may be changing what it says.
    if (!ended && peer == RankSlot::kAwake && rank != caller) return report;
    return comm::report_of(GlobalRank{rank}, report.state, its.calls, report.waits_for);
}

std::vector<int32_t> ThreadWorldState::missing_locked(const RankReport& report, int32_t peer) const {
    std::vector<int32_t> missing{peer};
    // A message concerns its two ends alone.
    const comm::IssuedCall& call = slots_[static_cast<std::size_t>(report.rank)]->calls.doing();
    if (!call.group || is_point_to_point(call.op)) return missing;
    for (const GlobalRank member : call.group->ranks) {
        const RankSlot& its = *slots_[static_cast<std::size_t>(member.value)];
        const bool came = std::ranges::any_of(its.reached, [&](const auto& reached) {
            return reached.first == call.group->index && reached.second >= call.sequence;
        });
        if (member.value != peer && !came && its.finished.load(std::memory_order_seq_cst))
            missing.push_back(member.value);
    }
    std::sort(missing.begin(), missing.end());
    return missing;
}

Diagnosis ThreadWorldState::diagnosis_locked(DiagnosisKind kind, int32_t caller) const {
    Diagnosis d;
    d.kind = kind;
    for (int32_t r = 0; r < world_size(); ++r) d.ranks.push_back(report_locked(r, caller));
    return d;
}

bool ThreadWorldState::is_waited_for_locked(int32_t rank) const {
    for (int32_t r = 0; r < world_size(); ++r)
        if (waits_for_locked(r) == rank) return true;
    return false;
}

bool ThreadWorldState::somebody_runs_locked() const {
    for (int32_t r = 0; r < world_size(); ++r)
        if (!slots_[static_cast<std::size_t>(r)]->finished.load(std::memory_order_seq_cst) &&
            waits_for_locked(r) == RankSlot::kAwake)
            return true;
    return false;
}

int32_t ThreadWorldState::speaker_locked() const {
    if (somebody_runs_locked()) return -1;
    int32_t stuck = -1;
    for (int32_t r = 0; r < world_size(); ++r) {
        const int32_t peer = waits_for_locked(r);
        if (peer == RankSlot::kDead) return r;
        const bool ended =
            peer >= 0 && slots_[static_cast<std::size_t>(peer)]->finished.load(std::memory_order_seq_cst);
        if (ended && stuck < 0) stuck = r;
    }
    return stuck;
}

bool ThreadWorldState::await_turn_to_speak(int32_t rank, int32_t waits_for,
                                           std::unique_lock<std::mutex>& lock) {
    while (!aborted()) {
        slot(rank).waits_for.store(waits_for, std::memory_order_seq_cst);
        if (speaker_locked() == rank) {
            slot(rank).waits_for.store(RankSlot::kAwake, std::memory_order_seq_cst);
            return true;
        }
        sleep(rank, lock);
    }
    return false;
}

bool ThreadWorldState::leads_nowhere_locked(int32_t rank) {
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
    if (at == RankSlot::kStalled) {
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

void ThreadWorldState::throw_finished(int32_t rank, int32_t peer, comm::Channel) {
    {
        std::unique_lock lock(mutex_);
        if (await_turn_to_speak(rank, peer, lock)) {
            Diagnosis d = diagnosis_locked(DiagnosisKind::missing, rank);
            d.ranks[static_cast<std::size_t>(rank)].state = RankState::waiting;
            d.ranks[static_cast<std::size_t>(rank)].waits_for = peer;
            // Nobody runs: all that wait in vain are known, and some may have nothing to do with this one.
            for (RankReport& report : d.ranks) {
                const int32_t awaited = report.waits_for;
                if (awaited < 0 || !slot(awaited).finished.load(std::memory_order_seq_cst)) continue;
                report.missing = missing_locked(report, awaited);
                d.culprits.insert(d.culprits.end(), report.missing.begin(), report.missing.end());
            }
            std::sort(d.culprits.begin(), d.culprits.end());
            d.culprits.erase(std::unique(d.culprits.begin(), d.culprits.end()), d.culprits.end());
            const DiagnosedError error(std::move(d), GlobalRank{rank});
            fail_locked(rank, std::make_exception_ptr(error));
            throw error;
        }
    }
    throw_secondary(rank);
}

void ThreadWorldState::die(int32_t rank) {
    {
        std::unique_lock lock(mutex_);
        if (!aborted()) slot(rank).end = RankState::lost;
        if (await_turn_to_speak(rank, RankSlot::kDead, lock)) {
            Diagnosis d = diagnosis_locked(DiagnosisKind::lost, rank);
            d.culprits = {rank};
            const DiagnosedError error(std::move(d), GlobalRank{rank});
            fail_locked(rank, std::make_exception_ptr(error));
            throw error;
        }
    }
    throw_secondary(rank);
}

void ThreadWorldState::stall(int32_t rank) {
    while (!aborted()) {
        std::unique_lock lock(mutex_);
        slot(rank).waits_for.store(RankSlot::kStalled, std::memory_order_seq_cst);
        sleep(rank, lock);
    }
    throw_secondary(rank);
}

}  // namespace meshscope::backends::threads
