#include "core/memory/ledger.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"

namespace meshscope::memory {
namespace {

const trace::RankTrace& rank_of(const trace::Trace& trace, int32_t rank) {
    const auto ranks = static_cast<int64_t>(trace.ranks.size());
    if (rank < 0 || rank >= ranks) {
        throw InvalidArgument({"memory.no_rank", {{"rank", int64_t{rank}}, {"ranks", ranks}}});
    }
    return trace.ranks[static_cast<size_t>(rank)];
}

/// Index of the first highest total of a step; see peak().
int64_t highest_point(const Ledger& ledger, int32_t step) {
    int64_t best = -1;
    int64_t before = -1;  // the last point of an earlier step: what a step without changes holds
    for (size_t i = 0; i < ledger.points.size(); ++i) {
        const Ledger::Point& point = ledger.points[i];
        if (step >= -1 && point.step < step) before = static_cast<int64_t>(i);
        if (step >= -1 && point.step != step) continue;
        if (best < 0 || point.total_bytes > ledger.points[static_cast<size_t>(best)].total_bytes) {
            best = static_cast<int64_t>(i);
        }
    }
    return best < 0 ? before : best;
}

}  // namespace

Ledger ledger(const trace::Trace& trace, int32_t rank) {
    Ledger result;
    Ledger::Point now;
    const trace::RankTrace& record = rank_of(trace, rank);
    result.points.reserve(record.memory.size());
    for (const trace::MemoryChange& change : record.memory) {
        now.after_event = change.after_event;
        now.step = change.step;
        now.bytes[static_cast<size_t>(change.category)] += change.delta_bytes;
        if (on_device(change.category)) now.total_bytes += change.delta_bytes;
        result.points.push_back(now);
    }
    return result;
}

std::vector<LiveTensor> live_at(const trace::Trace& trace, int32_t rank, int64_t changes) {
    const trace::RankTrace& record = rank_of(trace, rank);
    const auto size = static_cast<int64_t>(record.memory.size());
    if (changes < 0 || changes > size) {
        throw InvalidArgument(
            {"memory.no_change", {{"rank", int64_t{rank}}, {"change", changes}, {"changes", size}}});
    }
    // Freed tensors leave a hole of 0 bytes, so those that stay keep the order in which they came.
    std::vector<LiveTensor> tensors;
    std::unordered_map<uint64_t, size_t> place;
    for (int64_t i = 0; i < changes; ++i) {
        const trace::MemoryChange& change = record.memory[static_cast<size_t>(i)];
        if (!on_device(change.category)) continue;
        const auto [at, is_new] = place.try_emplace(change.allocation, tensors.size());
        if (is_new) tensors.push_back({std::string(trace.text(change.label)), change.category, 0});
        tensors[at->second].bytes += change.delta_bytes;
        if (tensors[at->second].bytes == 0) place.erase(at);
    }
    const auto is_gone = [](const LiveTensor& tensor) { return tensor.bytes == 0; };
    tensors.erase(std::remove_if(tensors.begin(), tensors.end(), is_gone), tensors.end());
    std::stable_sort(tensors.begin(), tensors.end(),
                     [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
    return tensors;
}

int32_t event_of_change(const trace::Trace& trace, int32_t rank, int64_t change) {
    const trace::RankTrace& record = rank_of(trace, rank);
    const auto size = static_cast<int64_t>(record.memory.size());
    if (change < 0 || change >= size) {
        throw InvalidArgument(
            {"memory.no_change", {{"rank", int64_t{rank}}, {"change", change}, {"changes", size}}});
    }
    const trace::MemoryChange& at = record.memory[static_cast<size_t>(change)];
    const auto events = static_cast<int32_t>(record.events.size());
    if (at.after_event >= 0 && at.after_event < events) {
        // Compute runs on the rank's own thread, where memory is asked for too: their times do not lie to
        // each other.
        const trace::Event& latest = record.events[static_cast<size_t>(at.after_event)];
        if (latest.kind == trace::EventKind::compute && at.t_ns < latest.t_end_ns) return at.after_event;
    }
    return std::min(at.after_event + 1, events - 1);
}

std::string what_text(const trace::Trace& trace, const trace::Event& event) {
    std::string text(event.kind == trace::EventKind::collective ? name(event.op) : trace.text(event.name));
    const std::string_view unit = trace.text(event.unit);
    if (!text.empty() && !unit.empty()) text += ' ';
    return text.append(unit);
}

Peak peak(const trace::Trace& trace, int32_t rank, int32_t step) {
    const Ledger all = ledger(trace, rank);
    const int64_t at = highest_point(all, step);
    Peak result;
    if (at < 0) return result;
    const Ledger::Point& point = all.points[static_cast<size_t>(at)];
    result.bytes = point.total_bytes;
    result.step = point.step;
    result.point = static_cast<int32_t>(at);
    result.by_category = point.bytes;
    result.event = event_of_change(trace, rank, at);
    const trace::RankTrace& record = rank_of(trace, rank);
    if (result.event >= 0) {
        const trace::Event& event = record.events[static_cast<size_t>(result.event)];
        result.what = what_text(trace, event);
        result.phase = event.phase;
        result.cause = result.what + (result.what.empty() ? "" : " ") + std::string(name(event.phase));
    }
    result.live = live_at(trace, rank, at + 1);
    return result;
}

}  // namespace meshscope::memory
