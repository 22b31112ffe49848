#include "app/gui/view/memory_step.h"

#include <algorithm>
#include <map>
#include <utility>

namespace meshscope::view {
namespace {

/// All that a rank's columns of a step are made from, as numbers: which events they stand for, what was held
/// before, and every change with the event it belongs to.
std::vector<int64_t> ingredients(const trace::Trace& trace, int32_t rank, int32_t step, Memo* memo) {
    const auto& changes = trace.ranks[static_cast<std::size_t>(rank)].memory;
    const auto earlier = [](const auto& a, const auto& b) { return a.step < b.step; };
    // Steps ascend in what the engine records; a rank of another record is a kind of its own.
    if (!std::is_sorted(changes.begin(), changes.end(), earlier)) return {-1, rank};
    std::vector<int64_t> out;
    for (const StepRun& run : step_runs(trace, rank, step, memo))
        out.insert(out.end(), {static_cast<int64_t>(run.first), static_cast<int64_t>(run.last)});
    memory::ByCategory before{};
    std::size_t i = 0;
    for (; i < changes.size() && changes[i].step < step; ++i)
        before[static_cast<std::size_t>(changes[i].category)] += changes[i].delta_bytes;
    out.push_back(-1);
    out.push_back(static_cast<int64_t>(i));
    out.insert(out.end(), before.begin(), before.end());
    for (; i < changes.size() && changes[i].step == step; ++i)
        out.insert(out.end(), {memory::event_of_change(trace, rank, static_cast<int64_t>(i)),
                               static_cast<int64_t>(changes[i].category), changes[i].delta_bytes});
    return out;
}

bool same_bytes(const std::vector<MemoryColumn>& a, const std::vector<MemoryColumn>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const MemoryColumn& x, const MemoryColumn& y) { return x.bytes == y.bytes; });
}

MemoryStep count_step(const trace::Trace& trace, int32_t step, Memo* memo) {
    MemoryStep out;
    std::map<std::vector<int64_t>, int32_t> kinds;
    for (int32_t r = 0; r < static_cast<int32_t>(trace.ranks.size()); ++r) {
        const auto [at, is_new] =
            kinds.try_emplace(ingredients(trace, r, step, memo), static_cast<int32_t>(out.distinct.size()));
        if (is_new) out.distinct.push_back(memory_columns(trace, r, step, memo));
        out.kind.push_back(at->second);
    }
    for (std::size_t k = 0; k < out.distinct.size(); ++k) {
        const auto& columns = out.distinct[k];
        const auto first = std::find_if(out.distinct.begin(), out.distinct.begin() + static_cast<int64_t>(k),
                                        [&](const auto& other) { return same_bytes(other, columns); });
        out.alike.push_back(static_cast<int32_t>(first - out.distinct.begin()));
        for (const MemoryColumn& c : columns) {
            out.most = std::max(out.most, c.total);
            for (std::size_t i = 0; i < c.bytes.size(); ++i)
                out.present[i] = out.present[i] || c.bytes[i] > 0;
        }
    }
    return out;
}

}  // namespace

std::shared_ptr<const MemoryStep> memory_step(const trace::Trace& trace, int32_t step, Memo* memo) {
    // The step on show alone: columns are large.
    return found_once<MemoryStep>(memo, 1, trace, nullptr, step, [&] { return count_step(trace, step, memo); });
}

}  // namespace meshscope::view
