#include "app/gui/view/memo.h"

#include <cstddef>

namespace meshscope::view {
namespace {

constexpr std::size_t kLarge = 50'000;

int64_t place(const void* p) {
    return static_cast<int64_t>(reinterpret_cast<intptr_t>(p));
}

/// Calls `see` with every number of a record's name until it says false; whether it never did.
template <class See>
bool each_part(const trace::Trace& trace, const time::Clock* clock, const See& see) {
    const auto list = [&](const auto& items) {
        return see(place(items.data())) && see(static_cast<int64_t>(items.size()));
    };
    for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
        const trace::RankTrace& rank = trace.ranks[r];
        if (!list(rank.events) || !list(rank.hops) || !list(rank.memory)) return false;
        if (rank.events.empty()) continue;
        if (!see(rank.events.back().t_end_ns)) return false;
        if (clock != nullptr && !(see(place(clock->events[r].data())) && see(clock->events[r].back().end_ns)))
            return false;
    }
    return true;
}

/// Every rank's runs, one after the other.
struct StepIndex {
    std::vector<StepRun> runs;
    std::vector<std::size_t> first;  ///< by rank, and one more
};

void add_runs(const std::vector<trace::Event>& events, std::vector<StepRun>& runs) {
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (i == 0 || events[i].step != runs.back().step) runs.push_back({events[i].step, i, i});
        runs.back().last = i + 1;
    }
}

StepIndex index_steps(const trace::Trace& trace) {
    StepIndex index;
    for (const trace::RankTrace& rank : trace.ranks) {
        index.first.push_back(index.runs.size());
        add_runs(rank.events, index.runs);
    }
    index.first.push_back(index.runs.size());
    return index;
}

}  // namespace

bool is_large(const trace::Trace& trace) {
    std::size_t things = 0;
    for (const auto& rank : trace.ranks) things += rank.events.size() + rank.hops.size();
    return things > kLarge;
}

RecordName::RecordName(const trace::Trace& trace, const time::Clock* clock) {
    each_part(trace, clock, [&](int64_t part) {
        parts_.push_back(part);
        return true;
    });
}

bool RecordName::names(const trace::Trace& trace, const time::Clock* clock) const {
    std::size_t at = 0;
    return each_part(trace, clock,
                     [&](int64_t part) { return at < parts_.size() && parts_[at++] == part; }) &&
           at == parts_.size();
}

std::vector<StepRun> step_runs(const trace::Trace& trace, int32_t rank, int32_t step, Memo* memo) {
    std::vector<StepRun> out;
    const auto r = static_cast<std::size_t>(rank);
    if (memo == nullptr || !is_large(trace)) {
        add_runs(trace.ranks[r].events, out);
        std::erase_if(out, [&](const StepRun& run) { return run.step != step; });
        return out;
    }
    const auto index =
        found_once<StepIndex>(memo, 6, trace, nullptr, char{}, [&] { return index_steps(trace); });
    for (std::size_t i = index->first[r]; i < index->first[r + 1]; ++i)
        if (index->runs[i].step == step) out.push_back(index->runs[i]);
    return out;
}

}  // namespace meshscope::view
