#include "app/gui/view/beats.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "app/gui/view/common.h"
#include "core/trace/ended.h"

namespace meshscope::view {
namespace {

/// What concerns the rank most comes first.
enum class Concern : uint8_t { received, sent, others, call, computation };

struct Ending {
    time::Interval at;
    EventRef event;
    std::optional<std::size_t> hop;
    Concern concern = Concern::others;
};

/// All that ends, for one rank; what of its calls never ended is found out once.
class Endings {
  public:
    Endings(const trace::Trace& trace, const time::Clock& clock, int32_t rank)
        : trace_(trace), clock_(clock), rank_(rank), open_(trace::unended_calls(trace, rank)) {}

    /// Calls `see` with each.
    template <class See>
    void each(See see) const {
        for (std::size_t r = 0; r < trace_.ranks.size() && r < clock_.hops.size(); ++r) {
            const std::vector<trace::Hop>& hops = trace_.ranks[r].hops;
            for (std::size_t h = 0; h < hops.size() && h < clock_.hops[r].size(); ++h) {
                const Concern concern = static_cast<int32_t>(r) == rank_ ? Concern::received
                                        : hops[h].src == rank_           ? Concern::sent
                                                                         : Concern::others;
                see(Ending{clock_.hops[r][h], {static_cast<int32_t>(r), hops[h].event}, h, concern});
            }
        }
        const auto own = static_cast<std::size_t>(rank_);
        if (rank_ < 0 || own >= trace_.ranks.size() || own >= clock_.events.size()) return;
        const trace::RankTrace& its = trace_.ranks[own];
        std::vector<char> hopped(its.events.size(), 0);
        for (const trace::Hop& hop : its.hops)
            if (static_cast<std::size_t>(hop.event) < hopped.size())
                hopped[static_cast<std::size_t>(hop.event)] = 1;
        for (std::size_t e = 0; e < its.events.size() && e < clock_.events[own].size(); ++e) {
            const bool call = its.events[e].kind == trace::EventKind::collective;
            if (hopped[e] != 0 || std::ranges::binary_search(open_, its.events[e].id)) continue;
            see(Ending{clock_.events[own][e],
                       {rank_, its.events[e].id},
                       std::nullopt,
                       call ? Concern::call : Concern::computation});
        }
    }

    /// What ends between the two moments, as one beat at `t`.
    Beat gathered(int64_t from, int64_t to, int64_t t) const {
        std::optional<Ending> first;
        std::set<int32_t> receivers;
        each([&](const Ending& ending) {
            if (ending.at.end_ns < from || ending.at.end_ns > to) return;
            if (ending.hop) receivers.insert(ending.event.rank);
            if (!first || ending.concern < first->concern) first = ending;
        });
        Beat beat{t, first->event, first->hop};
        if (first->hop) beat.others = static_cast<int32_t>(receivers.size()) - 1;
        return beat;
    }

  private:
    const trace::Trace& trace_;
    const time::Clock& clock_;
    int32_t rank_;
    std::vector<int32_t> open_;  ///< ascending
};

int64_t together_ns(const time::Interval& at) {
    return (at.end_ns - at.begin_ns) / 8;
}

/// What begins at that moment, or where nothing does ends there on a rank that the endings are not of: of
/// `rank` first, calls before computations.
std::optional<Beat> elsewhere(const trace::Trace& trace, const time::Clock& clock, int64_t t, int32_t rank) {
    struct Found {
        EventRef event;
        bool begins = false, own = false, call = false;
        auto weight() const { return std::tuple(begins, own, call); }
    };
    std::optional<Found> best;
    for (std::size_t r = 0; r < trace.ranks.size() && r < clock.events.size(); ++r) {
        const auto& events = trace.ranks[r].events;
        std::optional<std::vector<int32_t>> open;
        for (std::size_t e = 0; e < events.size() && e < clock.events[r].size(); ++e) {
            const time::Interval& at = clock.events[r][e];
            if (at.begin_ns != t && at.end_ns != t) continue;
            const bool call = events[e].kind == trace::EventKind::collective;
            if (call && !open) open = trace::unended_calls(trace, static_cast<int32_t>(r));
            // What never ended has no end, and what still waited for its turn no begin.
            const bool never_ended = call && std::ranges::binary_search(*open, events[e].id);
            const bool begins = at.begin_ns == t && !(never_ended && at.end_ns == t);
            if (!begins && never_ended) continue;
            const Found found{
                {static_cast<int32_t>(r), events[e].id}, begins, static_cast<int32_t>(r) == rank, call};
            if (!best || found.weight() > best->weight()) best = found;
        }
    }
    if (!best) return std::nullopt;
    Beat beat{t, best->event, std::nullopt, 0, best->begins};
    if (!beat.begins) return beat;
    const trace::Event& told = trace.event(beat.event.rank, beat.event.event);
    for (std::size_t r = 0; r < trace.ranks.size() && r < clock.events.size(); ++r)
        for (std::size_t e = 0; e < trace.ranks[r].events.size() && e < clock.events[r].size(); ++e) {
            const trace::Event& other = trace.ranks[r].events[e];
            if (clock.events[r][e].begin_ns != t || static_cast<int32_t>(r) == beat.event.rank) continue;
            if (other.kind != told.kind || other.op != told.op || other.name != told.name ||
                other.unit != told.unit)
                continue;
            ++beat.others;
            break;
        }
    return beat;
}

}  // namespace

std::optional<Beat> next_beat(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                              int32_t rank) {
    const Endings endings(trace, clock, rank);
    std::optional<time::Interval> first;
    endings.each([&](const Ending& ending) {
        const int64_t end = ending.at.end_ns;
        if (end <= cursor.t_ns || (first && end > first->end_ns)) return;
        if (!first || end < first->end_ns || together_ns(ending.at) < together_ns(*first)) first = ending.at;
    });
    if (!first) return std::nullopt;
    int64_t last = first->end_ns;
    const int64_t limit = first->end_ns + together_ns(*first);
    endings.each([&](const Ending& ending) {
        if (ending.at.end_ns <= limit) last = std::max(last, ending.at.end_ns);
    });
    return endings.gathered(first->end_ns, last, last);
}

std::optional<Beat> beat_at(const trace::Trace& trace, const time::Clock& clock, Cursor cursor,
                            int32_t rank) {
    const Endings endings(trace, clock, rank);
    std::optional<int64_t> together;
    endings.each([&](const Ending& ending) {
        if (ending.at.end_ns == cursor.t_ns)
            together = std::min(together.value_or(together_ns(ending.at)), together_ns(ending.at));
    });
    if (!together) return elsewhere(trace, clock, cursor.t_ns, rank);
    return endings.gathered(cursor.t_ns - *together, cursor.t_ns, cursor.t_ns);
}

std::string beat_words(const Texts& texts, const trace::Trace& trace, const Beat& beat, bool briefly) {
    const trace::Event& event = trace.event(beat.event.rank, beat.event.event);
    const bool call = event.kind == trace::EventKind::collective;
    const std::string op = call ? std::string(name(event.op)) : std::string(trace.text(event.name));
    const auto say = [&](const std::string& id, std::vector<MessageArg> args) {
        return texts.text({id, std::move(args)});
    };
    if (!beat.hop) {
        std::string unit(trace.text(event.unit));
        const std::string id = beat.begins ? "view.beat.begins"
                               : call      ? "view.beat.call"
                                           : "view.beat.computed";
        std::vector<MessageArg> args{arg("op", op), arg("rank", beat.event.rank)};
        const bool bare = briefly || unit.empty();
        if (!bare) args.push_back(arg("unit", std::move(unit)));
        const std::string words = say(bare ? id + ".bare" : id, std::move(args));
        if (beat.others == 0) return words;
        return say("view.beat.begins.others", {arg("words", words), arg("ranks", beat.others)});
    }
    const trace::Hop& hop = trace.ranks[static_cast<std::size_t>(beat.event.rank)].hops[*beat.hop];
    const std::string bytes = format_bytes(hop.bytes);
    if (briefly)
        return say("view.beat.brief", {arg("hop", hop.round + 1), arg("src", hop.src), arg("dst", hop.dst),
                                       arg("bytes", bytes)});
    std::string of = op;
    if (const auto unit = trace.text(event.unit); !unit.empty()) of += " " + std::string(unit);
    const std::string what =
        is_point_to_point(event.op) ? say("view.beat.what.whole", {arg("bytes", bytes)})
        : hop.n_pieces > 1 ? say("view.beat.what.several", {arg("chunks", hop.n_pieces), arg("bytes", bytes)})
                           : say("view.beat.what", {arg("chunk", hop.chunk), arg("bytes", bytes)});
    const std::string words = say(hop.reduces != 0 ? "view.beat.added" : "view.beat.received",
                                  {arg("op", of), arg("hop", hop.round + 1), arg("dst", hop.dst),
                                   arg("src", hop.src), arg("what", what)});
    if (beat.others == 0) return words;
    return say("view.beat.others", {arg("words", words), arg("ranks", beat.others)});
}

}  // namespace meshscope::view
