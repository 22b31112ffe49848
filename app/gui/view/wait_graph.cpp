#include "app/gui/view/wait_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "app/gui/view/common.h"
#include "app/gui/view/format.h"
#include "core/base/rank_set.h"
#include "core/trace/ended.h"

namespace meshscope::view {
namespace {

using Stands = RankEnd::Stands;

/// Up to so many different waits are told one by one.
constexpr std::size_t kToldWaits = 3;

/// "0 → 1 → 2 → 0"; the middle of a long ring is left out.
std::string ring_text(const std::vector<int32_t>& ring) {
    constexpr std::size_t kLongest = 8, kFirst = 4;
    std::string text;
    for (std::size_t i = 0; i < ring.size(); ++i) {
        if (ring.size() > kLongest && i == kFirst) {
            text += "… → ";
            i = ring.size() - 2;
        }
        text += std::to_string(ring[i]) + " → ";
    }
    return text + std::to_string(ring.front());
}

Message told(const std::vector<int32_t>& who, const std::vector<int32_t>& whom) {
    return {"view.end.waits", {{"who", rank_list(who)}, {"whom", rank_list(whom)}}};
}

/// Those of the ranks that have the same key, ascending; first those of the lowest rank.
template <class Key>
std::vector<std::vector<int32_t>> alike(std::vector<int32_t> ranks, const Key& key) {
    std::ranges::stable_sort(ranks, {}, key);
    std::vector<std::vector<int32_t>> rows;
    for (const int32_t rank : ranks) {
        if (rows.empty() || key(rows.back().front()) != key(rank)) rows.emplace_back();
        rows.back().push_back(rank);
    }
    std::ranges::sort(rows);
    return rows;
}

class Finder {
  public:
    Finder(const trace::Trace& trace, const RecordedFailure& failure)
        : trace_(trace), failure_(failure), reports_(trace.ranks.size()), reached_(trace.ranks.size()) {
        for (const RankReport& report : failure.ranks)
            if (static_cast<std::size_t>(report.rank) < reports_.size())
                reports_[static_cast<std::size_t>(report.rank)] = &report;
    }

    WaitGraph find() {
        graph_.ring = failure_.cycle;
        graph_.differs = failure_.differs;
        graph_.certain = failure_.certain && failure_.kind.has_value();
        graph_.ranks.resize(trace_.ranks.size());
        const auto open = trace::unended_calls(trace_);
        for (std::size_t r = 0; r < graph_.ranks.size(); ++r) graph_.ranks[r].open = open[r];
        for (const int32_t rank : failure_.culprits)
            if (graph_.at(rank) != nullptr) graph_.ranks[static_cast<std::size_t>(rank)].named = true;
        for (std::size_t r = 0; r < graph_.ranks.size(); ++r) stand(r);
        find_hops();
        for (std::size_t r = 0; r < graph_.ranks.size(); ++r) wait(r);
        std::erase_if(graph_.ring, [&](int32_t rank) { return graph_.at(rank) == nullptr; });
        measure();
        keep_calls();
        tell();
        return std::move(graph_);
    }

  private:
    /// What the rank was in and did last, and how it stood as far as that can be said of it alone.
    void stand(std::size_t r) {
        RankEnd& end = graph_.ranks[r];
        const auto& events = trace_.ranks[r].events;
        const RankReport* report = reports_[r];
        int64_t last_ns = -1;
        for (const trace::Event& event : events) {
            const bool call = event.kind == trace::EventKind::collective && !is_point_to_point(event.op);
            if (call) reach(r, event.group, event.sequence);
            if (event.t_end_ns < last_ns || std::ranges::binary_search(end.open, event.id)) continue;
            last_ns = event.t_end_ns;
            end.last = event.id;
        }
        if (report != nullptr && !report->call.op.empty()) end.call = event_of(r, report->call);
        const bool over = report != nullptr && report->state == RankState::finished;
        if (end.call < 0 && !end.open.empty() && !over)
            end.call = end.open.front();  // the others waited for their turn behind it
        const bool dies = failure_.kind == DiagnosisKind::lost && end.named;
        const bool stops = failure_.kind == DiagnosisKind::stalled && end.named;
        const RankState state = report != nullptr ? report->state : RankState::unknown;
        if (state == RankState::lost || dies)
            end.stands = Stands::lost;
        else if (state == RankState::stalled || stops)
            end.stands = Stands::stalled;
        else if (state == RankState::finished)
            end.stands = Stands::finished;
        else if (end.call >= 0 || state == RankState::waiting || state == RankState::in_call)
            end.stands = Stands::in_call;
        else
            end.stands = events.empty() ? Stands::unrecorded : Stands::running;
    }

    /// RankEnd::hops.
    void find_hops() {
        const auto gone = [&](int32_t rank) {
            const RankEnd* end = graph_.at(rank);
            return end != nullptr && !end->open.empty() &&
                   (end->stands == Stands::lost || end->stands == Stands::stalled);
        };
        std::vector<int32_t> ranks;
        for (int32_t rank = 0; rank < std::ssize(graph_.ranks); ++rank)
            if (gone(rank)) ranks.push_back(rank);
        if (ranks.empty()) return;
        for (std::size_t r = 0; r < trace_.ranks.size(); ++r)
            for (std::size_t h = 0; h < trace_.ranks[r].hops.size(); ++h) {
                const trace::Hop& hop = trace_.ranks[r].hops[h];
                const trace::Event& call = trace_.event(static_cast<int32_t>(r), hop.event);
                for (const int32_t rank : {hop.src, hop.dst})
                    if (std::ranges::binary_search(ranks, rank) && broke_off_in(rank, call))
                        graph_.ranks[static_cast<std::size_t>(rank)].hops.push_back(
                            {static_cast<int32_t>(r), h});
            }
    }

    /// This call, or its own part of it, had not ended on the rank.
    bool broke_off_in(int32_t rank, const trace::Event& call) const {
        return std::ranges::any_of(end(rank).open,
                                   [&](int32_t id) { return same_collective(trace_.event(rank, id), call); });
    }

    void reach(std::size_t r, int32_t group, int32_t sequence) {
        for (auto& [known, most] : reached_[r])
            if (known == group) {
                most = std::max(most, sequence);
                return;
            }
        reached_[r].emplace_back(group, sequence);
    }

    bool has_reached(int32_t rank, int32_t group, int32_t sequence) const {
        return std::ranges::any_of(reached_[static_cast<std::size_t>(rank)], [&](const auto& reached) {
            return reached.first == group && reached.second >= sequence;
        });
    }

    /// The event of a call that the engine names; -1: it is not recorded.
    int32_t event_of(std::size_t r, const CallReport& call) const {
        const auto& events = trace_.ranks[r].events;
        for (auto event = events.rbegin(); event != events.rend(); ++event) {
            if (event->kind != trace::EventKind::collective || event->sequence != call.sequence ||
                name(event->op) != call.op || event->group < 0 ||
                static_cast<std::size_t>(event->group) >= trace_.groups.size())
                continue;
            if (is_point_to_point(event->op) && event->peer != call.peer) continue;
            if (trace_.groups[static_cast<std::size_t>(event->group)].ranks == call.group_ranks)
                return event->id;
        }
        return -1;
    }

    void wait(std::size_t r) {
        RankEnd& end = graph_.ranks[r];
        const RankReport* report = reports_[r];
        // Of a message that came damaged its receiver does not wait any more.
        if (end.stands != Stands::in_call || failure_.kind == DiagnosisKind::corrupt) return;
        if (report != nullptr && !report->missing.empty())
            end.waits_for = report->missing;
        else if (report != nullptr && report->waits_for >= 0 && takes_part(r, report->waits_for))
            end.waits_for = {report->waits_for};
        else if (end.call >= 0 && failure_.kind != DiagnosisKind::mismatch)
            end.waits_for = missing_in(r);
        std::erase_if(end.waits_for, [&](int32_t rank) {
            return graph_.at(rank) == nullptr || rank == static_cast<int32_t>(r);
        });
        if (!end.waits_for.empty()) end.stands = Stands::waiting;
    }

    /// Whether the other is one for whom the rank's call can wait: between processes a rank that learns of a
    /// death says that it waits for the dead one, whatever it is in.
    bool takes_part(std::size_t r, int32_t other) const {
        const int32_t call = graph_.ranks[r].call;
        if (call < 0) return true;
        const trace::Event& event = trace_.ranks[r].events[static_cast<std::size_t>(call)];
        return std::ranges::count(trace_.groups[static_cast<std::size_t>(event.group)].ranks, other) > 0;
    }

    /// As the record tells it, found once for all that are in the same call.
    std::vector<int32_t> missing_in(std::size_t r) {
        graph_.certain = false;
        const int32_t id = graph_.ranks[r].call;
        const trace::Event& event = trace_.ranks[r].events[static_cast<std::size_t>(id)];
        if (is_point_to_point(event.op)) return {event.peer};
        const auto [found, is_new] = missing_.try_emplace({event.group, event.sequence});
        if (!is_new) return found->second;
        for (const int32_t rank : trace_.groups[static_cast<std::size_t>(event.group)].ranks) {
            const RankEnd* member = graph_.at(rank);
            if (member == nullptr) continue;
            const bool gone = member->stands == Stands::lost || member->stands == Stands::stalled;
            const auto& events = trace_.ranks[static_cast<std::size_t>(rank)].events;
            const bool within = std::ranges::any_of(member->open, [&](int32_t open) {
                return same_collective(events[static_cast<std::size_t>(open)], event);
            });
            // It waits for its turn behind the call that the member is in, and has not begun.
            const bool queued = within && member->call >= 0 &&
                                !same_collective(events[static_cast<std::size_t>(member->call)], event);
            if (!has_reached(rank, event.group, event.sequence) || queued || (gone && within))
                found->second.push_back(rank);
        }
        return found->second;
    }

    /// RankEnd::through, outwards from those that do not wait.
    void measure() {
        std::vector<std::vector<int32_t>> waited_for(graph_.ranks.size());
        std::vector<char> in_ring(graph_.ranks.size(), 0);
        for (const int32_t rank : graph_.ring) in_ring[static_cast<std::size_t>(rank)] = 1;
        std::vector<int32_t> now, next;
        for (std::size_t r = 0; r < graph_.ranks.size(); ++r) {
            for (const int32_t rank : graph_.ranks[r].waits_for)
                waited_for[static_cast<std::size_t>(rank)].push_back(static_cast<int32_t>(r));
            if (graph_.ranks[r].waits_for.empty() || in_ring[r] != 0) now.push_back(static_cast<int32_t>(r));
        }
        for (int32_t through = 0; !now.empty(); ++through, std::swap(now, next)) {
            next.clear();
            for (const int32_t rank : now)
                for (const int32_t behind : waited_for[static_cast<std::size_t>(rank)]) {
                    RankEnd& end = graph_.ranks[static_cast<std::size_t>(behind)];
                    if (end.through >= 0 || in_ring[static_cast<std::size_t>(behind)] != 0) continue;
                    end.through = through;
                    next.push_back(behind);
                }
        }
    }

    void keep_calls() {
        if (failure_.kind != DiagnosisKind::mismatch) return;
        graph_.calls.resize(graph_.ranks.size());
        for (std::size_t r = 0; r < reports_.size(); ++r)
            if (reports_[r] != nullptr) graph_.calls[r] = reports_[r]->call;
    }

    const RankEnd& end(int32_t rank) const { return graph_.ranks[static_cast<std::size_t>(rank)]; }

    /// WaitGraph::rows and ::sentences.
    void tell() {
        std::vector<int32_t> waiting;
        for (int32_t rank = 0; rank < std::ssize(graph_.ranks); ++rank)
            if (end(rank).stands == Stands::waiting) waiting.push_back(rank);
        graph_.rows = graph_.calls.empty() ? rows_of_waits(waiting) : rows_of_calls();
        const auto whom = [&](int32_t rank) -> const std::vector<int32_t>& { return end(rank).waits_for; };
        const auto same = in_order(alike(waiting, whom));
        if (same.size() > kToldWaits) return sum_up(waiting);
        for (const auto& who : same) graph_.sentences.push_back(told(who, whom(who.front())));
    }

    std::vector<std::vector<int32_t>> rows_of_waits(const std::vector<int32_t>& waiting) const {
        return in_order(alike(waiting, [&](int32_t rank) {
            int32_t group = -1, sequence = -1;
            if (const int32_t call = end(rank).call; call >= 0) {
                const trace::Event& event = trace_.event(rank, call);
                group = event.group;
                sequence = event.sequence;
            }
            return std::tuple<const std::vector<int32_t>&, int32_t, int32_t>(end(rank).waits_for, group,
                                                                             sequence);
        }));
    }

    std::vector<std::vector<int32_t>> rows_of_calls() const {
        std::vector<std::string> calls;
        std::vector<int32_t> callers;
        for (int32_t rank = 0; rank < std::ssize(graph_.calls); ++rank) {
            const CallReport& call = graph_.calls[static_cast<std::size_t>(rank)];
            calls.push_back(call.op.empty() ? "" : signature(call));
            if (!call.op.empty()) callers.push_back(rank);
        }
        return alike(callers, [&](int32_t rank) -> const std::string& {
            return calls[static_cast<std::size_t>(rank)];
        });
    }

    /// First those whose rank waited for does not wait itself.
    std::vector<std::vector<int32_t>> in_order(std::vector<std::vector<int32_t>> rows) const {
        std::ranges::stable_sort(rows, {}, [&](const auto& who) { return end(who.front()).through; });
        return rows;
    }

    /// The sentences where there are too many different waits to tell each.
    void sum_up(const std::vector<int32_t>& waiting) {
        std::vector<char> in_ring(graph_.ranks.size(), 0), waited_for(graph_.ranks.size(), 0);
        for (const int32_t rank : graph_.ring) in_ring[static_cast<std::size_t>(rank)] = 1;
        std::vector<int32_t> direct, whom;
        int64_t behind = 0, most = 0;
        for (const int32_t rank : waiting) {
            const RankEnd& stood = end(rank);
            if (stood.through > 0) {
                ++behind;
                most = std::max<int64_t>(most, stood.through);
            } else if (in_ring[static_cast<std::size_t>(rank)] == 0) {
                direct.push_back(rank);
                for (const int32_t other : stood.waits_for) waited_for[static_cast<std::size_t>(other)] = 1;
            }
        }
        for (int32_t rank = 0; rank < std::ssize(waited_for); ++rank)
            if (waited_for[static_cast<std::size_t>(rank)] != 0) whom.push_back(rank);
        if (!graph_.ring.empty())
            graph_.sentences.push_back({"view.end.waits.ring", {{"ring", ring_text(graph_.ring)}}});
        if (!direct.empty()) graph_.sentences.push_back(told(direct, whom));
        if (behind > 0)
            graph_.sentences.push_back(
                {"view.end.waits.through",
                 {arg("count", format_count(behind)), arg("others", format_count(most))}});
    }

    const trace::Trace& trace_;
    const RecordedFailure& failure_;
    std::vector<const RankReport*> reports_;                         ///< by rank; null: none
    std::vector<std::vector<std::pair<int32_t, int32_t>>> reached_;  ///< by rank: group, latest sequence
    std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> missing_;
    WaitGraph graph_;
};

}  // namespace

WaitGraph wait_graph(const trace::Trace& trace, const RecordedFailure& failure) {
    return Finder(trace, failure).find();
}

int64_t stood_ns(const time::Clock& clock, const WaitGraph& graph, int32_t rank) {
    const RankEnd* end = graph.at(rank);
    if (end == nullptr || static_cast<std::size_t>(rank) >= clock.events.size()) return 0;
    const auto& times = clock.events[static_cast<std::size_t>(rank)];
    int64_t at = 0;
    if (end->last >= 0) at = times[static_cast<std::size_t>(end->last)].end_ns;
    if (end->call >= 0) at = std::max(at, times[static_cast<std::size_t>(end->call)].begin_ns);
    for (const HopRef& hop : end->hops) {
        const auto r = static_cast<std::size_t>(hop.rank);
        if (clock.kind == time::ClockKind::measured && hop.rank != rank) continue;
        if (r < clock.hops.size() && hop.hop < clock.hops[r].size())
            at = std::max(at, clock.hops[r][hop.hop].end_ns);
    }
    return at;
}

std::string call_in_short(const trace::Trace& trace, const trace::Event& call) {
    std::string words(call.kind == trace::EventKind::collective ? name(call.op)
                                                                : std::string(trace.text(call.name)));
    if (call.unit != 0 && trace.text(call.unit) != words) words += " " + std::string(trace.text(call.unit));
    if (call.sequence >= 0) words += " #" + std::to_string(call.sequence);
    return words;
}

}  // namespace meshscope::view
