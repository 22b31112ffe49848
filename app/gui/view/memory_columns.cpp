#include "app/gui/view/memory_columns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "app/gui/view/format.h"

namespace meshscope::view {

std::vector<MemoryColumn> memory_columns(const trace::Trace& trace, int32_t rank, int32_t step, Memo* memo) {
    const auto& events = trace.ranks[static_cast<std::size_t>(rank)].events;
    std::vector<MemoryColumn> out;
    for (const StepRun& run : step_runs(trace, rank, step, memo))
        for (std::size_t i = run.first; i < run.last; ++i) out.push_back({events[i].id, -1, 0, {}});
    if (out.empty()) return out;

    const auto ledger = memory::ledger(trace, rank);
    // The highest point of each event; what the step began with for events before the first change.
    MemoryColumn before;
    std::vector<MemoryColumn> last(out.size());  // the level each event left behind
    for (std::size_t i = 0; i < ledger.points.size(); ++i) {
        const auto& point = ledger.points[i];
        const auto changes = static_cast<int64_t>(i) + 1;
        if (point.step < step) before = {-1, changes, point.total_bytes, point.bytes};
        if (point.step != step) continue;
        const int32_t event = memory::event_of_change(trace, rank, static_cast<int64_t>(i));
        auto at = std::lower_bound(out.begin(), out.end(), event,
                                   [](const MemoryColumn& c, int32_t id) { return c.event < id; });
        if (at == out.end()) at = out.end() - 1;
        if (at->changes < 0 || point.total_bytes > at->total)
            *at = {at->event, changes, point.total_bytes, point.bytes};
        last[static_cast<std::size_t>(at - out.begin())] = {at->event, changes, point.total_bytes,
                                                            point.bytes};
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i].changes < 0) {
            const int32_t event = out[i].event;
            out[i] = before;
            out[i].event = event;
        } else {
            before = last[i];
        }
    }
    return out;
}

std::size_t highest(const std::vector<MemoryColumn>& columns) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < columns.size(); ++i)
        if (columns[i].total > columns[best].total) best = i;
    return best;
}

std::vector<MemoryColumn> join_columns(const std::vector<MemoryColumn>& columns, std::size_t most) {
    if (columns.size() <= most || most == 0) return columns;
    const std::size_t each = (columns.size() + most - 1) / most;
    std::vector<MemoryColumn> out;
    for (std::size_t i = 0; i < columns.size(); i += each) {
        const auto end = std::min(columns.size(), i + each);
        auto best = i;
        for (std::size_t k = i + 1; k < end; ++k)
            if (columns[k].total > columns[best].total) best = k;
        out.push_back(columns[best]);
    }
    return out;
}

void style_category(Shape& s, MemoryCategory category) {
    s.fill_alpha = 0.88F;
    switch (category) {
        case MemoryCategory::parameters:
            s.fill = Token::blue;
            break;
        case MemoryCategory::sharded_parameters:
            s.fill = Token::blue;
            s.fill_alpha = 0.6F;
            s.pattern = Fill::hatch;
            s.hatch = Token::soft;
            break;
        case MemoryCategory::unsharded_parameters:
            s.fill = Token::sky;
            break;
        case MemoryCategory::gradients:
            s.fill = Token::orange;
            break;
        case MemoryCategory::optimizer_state:
            s.fill = Token::grey;
            s.fill_alpha = 0.55F;
            break;
        case MemoryCategory::activations:
            s.fill = Token::green;
            break;
        case MemoryCategory::communication:
            s.fill = Token::pink;
            s.fill_alpha = 0.45F;
            s.pattern = Fill::hatch;
            s.hatch = Token::pink;
            break;
        case MemoryCategory::inputs:
            s.fill = Token::yellow;  // grey-blues are parameters and optimizer state
            s.fill_alpha = 0.5F;
            break;
        case MemoryCategory::temporaries:
            s.fill = Token::red;
            s.fill_alpha = 0.45F;
            s.pattern = Fill::cross_hatch;
            s.hatch = Token::red;
            break;
        case MemoryCategory::offloaded:
            s.fill = Token::grey;
            s.fill_alpha = 0.35F;
            s.pattern = Fill::cross_hatch;
            s.hatch = Token::soft;
            break;
    }
}

int64_t byte_step(int64_t largest, int lines) {
    return static_cast<int64_t>(round_step(static_cast<double>(largest) / lines));
}

std::string axis_bytes(int64_t bytes) {
    for (const auto& [unit, word] :
         {std::pair{int64_t{1'000'000'000}, " GB"}, {int64_t{1'000'000}, " MB"}, {int64_t{1'000}, " KB"}})
        if (bytes >= unit && bytes % (unit / 10) == 0)
            return bytes % unit == 0
                       ? format_count(bytes / unit) + word
                       : format_count(bytes / unit) + "." + std::to_string(bytes % unit * 10 / unit) + word;
    return format_exact_bytes(bytes);
}

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
    return found_once<MemoryStep>(memo, 1, trace, nullptr, step,
                                  [&] { return count_step(trace, step, memo); });
}

}  // namespace meshscope::view
