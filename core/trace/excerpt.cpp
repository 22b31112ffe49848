#include "core/trace/excerpt.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/trace/recorded.h"
#include "core/trace/validate.h"

namespace meshscope::trace {
namespace {

bool holds(StepRange steps, int32_t step) {
    return (steps.first <= step && step < steps.end) || (step < 0 && steps.first == 0);
}

/// One rank's part. Old ids lead to new ones, -1 where an event was left out.
class Cut {
  public:
    Cut(const RankTrace& from, StepRange steps, int64_t origin_ns)
        : from_(from), steps_(steps), origin_ns_(origin_ns), ids_(from.events.size(), -1) {}

    RankTrace make() {
        events();
        for (const Dependency& d : from_.dependencies)
            if (id(d.event) >= 0 && id(d.on) >= 0) to_.dependencies.push_back({id(d.event), id(d.on)});
        hops();
        for (Snapshot s : from_.snapshots) {
            if (id(s.event) < 0) continue;
            s.event = id(s.event);
            s.values = values(s.values, s.elements);
            to_.snapshots.push_back(s);
        }
        memory();
        to_.parameters = from_.parameters;
        return std::move(to_);
    }

  private:
    int32_t id(int32_t old) const { return old < 0 ? -1 : ids_[static_cast<std::size_t>(old)]; }

    void events() {
        for (Event e : from_.events) {
            if (!holds(steps_, e.step)) continue;
            ids_[static_cast<std::size_t>(e.id)] = static_cast<int32_t>(to_.events.size());
            e.id = static_cast<int32_t>(to_.events.size());
            for (int64_t* t : {&e.t_issue_ns, &e.t_begin_ns, &e.t_end_ns}) *t -= origin_ns_;
            to_.events.push_back(e);
        }
    }

    void hops() {
        for (Hop h : from_.hops) {
            if (id(h.event) < 0) continue;
            h.event = id(h.event);
            h.t_begin_ns -= origin_ns_;
            h.t_end_ns -= origin_ns_;
            h.values = values(h.values, h.elements);
            if (h.n_pieces > 0) {
                const auto first = from_.pieces.begin() + h.pieces;
                h.pieces = static_cast<int64_t>(to_.pieces.size());
                to_.pieces.insert(to_.pieces.end(), first, first + h.n_pieces);
            }
            to_.hops.push_back(h);
        }
    }

    /// Several things may point at the same numbers.
    int64_t values(int64_t first, int64_t elements) {
        if (first < 0) return first;
        const auto [found, is_new] =
            moved_.try_emplace({first, elements}, static_cast<int64_t>(to_.values.size()));
        if (is_new) {
            const auto begin = from_.values.begin() + first;
            to_.values.insert(to_.values.end(), begin, begin + elements);
        }
        return found->second;
    }

    void memory() {
        const auto first = std::ranges::find_if(
            from_.memory, [&](const MemoryChange& change) { return holds(steps_, change.step); });
        std::unordered_map<uint64_t, int64_t> live;
        for (auto change = from_.memory.begin(); change != first; ++change)
            live[change->allocation] += change->delta_bytes;
        for (auto change = from_.memory.begin(); change != from_.memory.end(); ++change) {
            const bool before = change < first;
            if (before ? live[change->allocation] == 0 : !holds(steps_, change->step)) continue;
            MemoryChange kept = *change;
            kept.after_event = id(kept.after_event);
            kept.t_ns = before ? 0 : std::max<int64_t>(0, kept.t_ns - origin_ns_);
            to_.memory.push_back(kept);
        }
    }

    const RankTrace& from_;
    StepRange steps_;
    int64_t origin_ns_;
    std::vector<int32_t> ids_;
    std::map<std::pair<int64_t, int64_t>, int64_t> moved_;
    RankTrace to_;
};

}  // namespace

Trace excerpt(const Trace& trace, StepRange steps) {
    const auto part = excerpt_of(trace);
    const int32_t recorded = first_recorded_step(trace), end = part ? part->end : recorded_end(trace);
    if (steps.first >= steps.end || steps.first < recorded || steps.end > end)
        throw InvalidArgument({"trace.no_such_steps",
                               {{"first", int64_t{steps.first}},
                                {"end", int64_t{steps.end}},
                                {"recorded", int64_t{recorded}},
                                {"steps", int64_t{end}}}});
    int64_t origin_ns = std::numeric_limits<int64_t>::max();
    for (const RankTrace& rank : trace.ranks)
        for (const Event& e : rank.events)
            if (holds(steps, e.step)) origin_ns = std::min(origin_ns, e.t_issue_ns);
    Trace made{trace.info, trace.strings, trace.groups, {}};
    for (const RankTrace& rank : trace.ranks) made.ranks.push_back(Cut(rank, steps, origin_ns).make());
    validate(made);
    return made;
}

std::optional<StepRange> excerpt_of(const Trace& trace) {
    int32_t first = std::numeric_limits<int32_t>::max(), end = 0;
    int64_t origin_ns = std::numeric_limits<int64_t>::max();
    for (const RankTrace& rank : trace.ranks)
        for (const Event& e : rank.events) {
            first = std::min(first, e.step);
            end = std::max(end, e.step + 1);
            origin_ns = std::min(origin_ns, e.t_issue_ns);
        }
    if (end == 0 || origin_ns != 0 || (first <= 0 && end >= trace.info.steps)) return {};
    return StepRange{std::max(first, 0), end};
}

std::optional<StepRange> step_range(std::string_view text) {
    StepRange steps;
    const char* const end = text.data() + text.size();
    const auto [colon, bad] = std::from_chars(text.data(), end, steps.first);
    if (bad != std::errc() || colon == end || *colon != ':') return {};
    const auto [last, none] = std::from_chars(colon + 1, end, steps.end);
    if (none != std::errc() || last != end || steps.first < 0 || steps.first >= steps.end) return {};
    return steps;
}

std::optional<StepRange> longest_excerpt(const Trace& trace, int32_t first, int64_t most) {
    std::vector<int64_t> events(static_cast<std::size_t>(std::max(recorded_end(trace), 0)), 0);
    int64_t set_up = 0;
    for (const RankTrace& rank : trace.ranks)
        for (const Event& e : rank.events)
            if (e.step < 0)
                ++set_up;
            else if (static_cast<std::size_t>(e.step) < events.size())
                ++events[static_cast<std::size_t>(e.step)];
    int64_t left = most - (first == 0 ? set_up : 0);
    int32_t end = first;
    while (static_cast<std::size_t>(end) < events.size() && events[static_cast<std::size_t>(end)] <= left)
        left -= events[static_cast<std::size_t>(end++)];
    if (end == first) return {};
    return StepRange{first, end};
}

}  // namespace meshscope::trace
